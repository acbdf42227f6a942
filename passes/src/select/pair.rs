//! Copies to two destinations that one variant carries at once.
//!
//! Must hold: such a variant is taken when it is forced, or when it is predicted to be faster than one copy for each; the
//! report says what became of it either way.

use tilewright_ir::TileOp;
use tilewright_ir::text::print_region;

use super::engine::{Chosen, Selector, declined, describe, time};
use super::rewriter::Rewriter;
use super::variant::{Candidate, CopyGroup, CopyVariant, CopyView, Reject};
use crate::pipeline::{CandidateDecision, CopyDecision, Verdict};

impl<'a> Selector<'a> {
    /// The best variant for each destination, or one for both of two.
    pub(super) fn choose_all(&mut self, views: Vec<CopyView>, op: &TileOp) -> Option<Vec<Chosen>> {
        let pair = match <[CopyView; 2]>::try_from(views) {
            Ok(pair) => pair,
            Err(views) => {
                return views.into_iter().enumerate().map(|(i, v)| self.choose(v, &describe(op, i))).collect();
            }
        };
        let forced = pair[0].attrs.variant.clone();
        let asked = self.pairs(&pair);
        let before = (self.decisions.len(), self.warnings.len());
        if let Some((variant, answer)) =
            asked.iter().position(|(v, _)| forced.as_deref() == Some(v.info().name)).map(|n| &asked[n])
        {
            return match answer {
                Ok(candidate) => Some(vec![self.write_pair(*variant, candidate, op, &pair[0], Vec::new())]),
                Err(reject) => {
                    self.errors.push(declined(variant.info().name, reject, pair[0].span, &describe(op, 0)));
                    None
                }
            };
        }
        let apart = pair[0].dst.rank != pair[1].dst.rank;
        let first = pair[0].clone();
        let singles: Option<Vec<Chosen>> =
            pair.into_iter().enumerate().map(|(i, v)| self.choose(v, &describe(op, i))).collect();
        let singles = singles?;
        // Queues towards two ranks work side by side.
        let costs = singles.iter().map(|c| c.cost);
        let alone = if apart { costs.max().unwrap_or(0) } else { costs.sum() };
        let better =
            asked.iter().find(|(_, a)| forced.is_none() && a.as_ref().is_ok_and(|c| c.cost.picoseconds < alone));
        let told: Vec<CandidateDecision> = asked.iter().map(|(v, a)| pair_verdict(*v, a, alone)).collect();
        if let Some((variant, Ok(candidate))) = better {
            let singly = self.decisions.split_off(before.0);
            self.warnings.truncate(before.1);
            let lost = singly.first().map(|d| single_verdict(d, alone, candidate)).into_iter().collect();
            return Some(vec![self.write_pair(*variant, candidate, op, &first, lost)]);
        }
        for decision in &mut self.decisions[before.0..] {
            decision.candidates.extend(told.iter().cloned());
        }
        Some(singles)
    }

    /// What the variants that carry two destinations at once say.
    fn pairs(&self, pair: &[CopyView; 2]) -> Vec<(&'a dyn CopyVariant, Result<Candidate, Reject>)> {
        let group = CopyGroup { copies: pair.to_vec() };
        let two = self.cx.variants.iter().filter(|v| v.copies() == 2);
        two.map(|v| (*v, v.plan(&group, self.cx.target))).collect()
    }

    fn write_pair(
        &mut self,
        variant: &dyn CopyVariant,
        candidate: &Candidate,
        op: &TileOp,
        view: &CopyView,
        others: Vec<CandidateDecision>,
    ) -> Chosen {
        let mut rw = Rewriter::new(&mut self.names, view.span);
        let completion = (candidate.emit)(&mut rw);
        let block = rw.finish();
        let chosen = CandidateDecision {
            variant: variant.info().name,
            verdict: Verdict::Chosen,
            about_layout: false,
            cost: Some(candidate.cost),
            notes: candidate.notes.clone(),
        };
        let first = describe(op, 0);
        let copy = match (op.dsts.get(1), first.split_once(" <- ")) {
            (Some(second), Some((one, rest))) => format!("{one}, {} <- {rest}", print_region(second)),
            _ => first,
        };
        self.decisions.push(CopyDecision {
            kernel: self.kernel.clone(),
            span: view.span,
            copy,
            chosen: variant.info().name,
            params: candidate.params.clone(),
            conflicts: candidate.conflicts.clone(),
            candidates: std::iter::once(chosen).chain(others).collect(),
            forced: view.attrs.variant.is_some(),
        });
        Chosen::new(variant, candidate, block, completion)
    }
}

/// What the report of two single copies says of a variant for both.
fn pair_verdict(variant: &dyn CopyVariant, answer: &Result<Candidate, Reject>, alone: u64) -> CandidateDecision {
    let (verdict, cost, notes) = match answer {
        Err(r) => (Verdict::Rejected(r.to_string(), r.fix().map(str::to_owned)), None, Vec::new()),
        Ok(c) => {
            let why =
                format!("predicted {} for both destinations, one copy each {}", time(c.cost.picoseconds), time(alone));
            (Verdict::Lost(why), Some(c.cost), c.notes.clone())
        }
    };
    CandidateDecision { variant: variant.info().name, verdict, about_layout: false, cost, notes }
}

/// What the report of a copy to both destinations says of one copy each.
fn single_verdict(singly: &CopyDecision, alone: u64, pair: &Candidate) -> CandidateDecision {
    let why = format!(
        "one copy for each destination is predicted {}, both at once {}",
        time(alone),
        time(pair.cost.picoseconds)
    );
    let cost = singly.candidates.iter().find(|c| c.verdict == Verdict::Chosen).and_then(|c| c.cost);
    CandidateDecision {
        variant: singly.chosen,
        verdict: Verdict::Lost(why),
        about_layout: false,
        cost,
        notes: Vec::new(),
    }
}
