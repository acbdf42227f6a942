//! ALU instructions, and what the checks note about their results.
//!
//! What must hold here: what is undefined among the sources is looked at before anything is written.

use super::step::{Run, Step};
use crate::exec::{AluFn, dual};
use crate::fault::Exec;
use crate::wave::WaveState;

impl Step {
    /// Executes a scalar or vector ALU instruction, alone or of two; false if it is another.
    ///
    /// # Errors
    /// What the instruction finds, and an EXEC that became undefined.
    #[inline(always)]
    pub(crate) fn alu(&self, wave: &mut WaveState, checks: bool) -> Exec<bool> {
        match self.run {
            Run::Alu(function) if !checks => function(wave, &self.inst)?,
            Run::Alu(function) => {
                let undefined = self.undefined(wave);
                function(wave, &self.inst)?;
                if undefined == 0 {
                    self.mark_defined(wave);
                } else {
                    self.mark_undefined(wave, undefined)?;
                }
            }
            Run::Dual(first, second) => self.both(first, second, wave, checks)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn both(&self, first: AluFn, second: AluFn, wave: &mut WaveState, checks: bool) -> Exec {
        let Some(other) = &self.second else { return Ok(()) };
        let undefined = if checks { [self.undefined(wave), other.undefined(wave)] } else { [0; 2] };
        dual::execute(wave, (first, &self.inst), (second, &other.inst))?;
        for (step, lanes) in [(self, undefined[0]), (other.as_ref(), undefined[1])] {
            if lanes != 0 {
                step.mark_undefined(wave, lanes)?;
            }
        }
        Ok(())
    }
}
