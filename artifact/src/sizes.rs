//! What of a kernel follows from the values of its `where` parameters: its launch shape and the bytes of its arguments.
//!
//! What must hold here: a formula is over `where` parameters and numbers only; one that gives no size for some values is no
//! size then, and the launch is refused.

use serde::{Deserialize, Serialize};

use crate::{Count, CountValues, KernelInfo};

/// A number that is known at launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// The formula as the source writes it, for people.
    pub text: String,
    /// The same to be evaluated.
    pub count: Count,
}

/// Sizes of a kernel that are formulas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Thread blocks in x, y, z; empty if [`KernelInfo::grid`] is constant. Where it is not, it is for some values only.
    pub grid: Vec<Size>,
    /// Threads of a block in x, y, z; empty if [`KernelInfo::block`] is constant.
    pub block: Vec<Size>,
    /// For `global` and `window` arguments by name: the bytes of memory that the kernel may touch, of a window on each rank.
    /// An argument that is missing here is not checked.
    pub bytes: Vec<(String, Size)>,
}

impl Sizes {
    /// What is wrong with the formulas; `None` if nothing.
    pub(crate) fn check(&self, kernel: &KernelInfo) -> Option<String> {
        for (what, all) in [("grid", &self.grid), ("block", &self.block)] {
            if !all.is_empty() && all.len() != 3 {
                return Some(format!("its {what} has {} formulas, not three", all.len()));
            }
        }
        let named = self.bytes.iter().find(|(name, _)| !kernel.args.iter().any(|arg| arg.name == *name));
        if let Some((name, _)) = named {
            return Some(format!("it has a size for `{name}`, which is no argument"));
        }
        let bytes = self.bytes.iter().map(|(_, size)| size);
        self.grid.iter().chain(&self.block).chain(bytes).find_map(|size| size.count.check(&kernel.args))
    }
}

impl Size {
    /// Its value with these values of the `where` parameters; `None` if it has none, or a negative one.
    pub fn value(&self, wheres: &dyn Fn(&str) -> Option<i64>) -> Option<u64> {
        let values = CountValues { sender: 0, receiver: 0, lsa_size: 1, world_size: 1, wheres };
        self.count.evaluate(&values).and_then(|value| u64::try_from(value).ok())
    }
}

impl KernelInfo {
    /// Grid and block for a launch with these values of the `where` parameters.
    ///
    /// # Errors
    /// The extent that has no value from 1 to 2^32 - 1, as a phrase: `grid x = n / 64 is 0`.
    pub fn shape(&self, wheres: &dyn Fn(&str) -> Option<i64>) -> Result<([u32; 3], [u32; 3]), String> {
        let shape = |what: &str, constant: [u32; 3], sizes: &[Size]| -> Result<[u32; 3], String> {
            let mut shape = constant;
            for ((slot, size), axis) in shape.iter_mut().zip(sizes).zip(["x", "y", "z"]) {
                let value = size.value(wheres);
                let fits = value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0);
                let words = || value.map_or("no size".to_owned(), |value| value.to_string());
                *slot = fits.ok_or_else(|| format!("{what} {axis} = {} is {}", size.text, words()))?;
            }
            Ok(shape)
        };
        Ok((shape("grid", self.grid, &self.sizes.grid)?, shape("block", self.block, &self.sizes.block)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CountOp, CountStep, IntType};

    #[test]
    fn a_shape_follows_from_the_extents() {
        let n = || CountStep::Where("n".to_owned());
        let half = vec![n(), CountStep::Int(2), CountStep::Op(CountOp::Div, IntType::INDEX)];
        let size = |text: &str, steps| Size { text: text.to_owned(), count: Count::new(steps) };
        let one = || size("1", vec![CountStep::Int(1)]);
        let kernel = KernelInfo {
            name: "k".to_owned(),
            args: Vec::new(),
            grid: [7, 1, 1],
            block: [64, 1, 1],
            lds_bytes: 0,
            min_queues: 0,
            signals: Vec::new(),
            signals_by_hand: false,
            sizes: Sizes { grid: vec![size("n / 2", half), one(), one()], ..Sizes::default() },
        };
        let at = |n: i64| kernel.shape(&move |name| (name == "n").then_some(n));
        assert_eq!(at(10), Ok(([5, 1, 1], [64, 1, 1])));
        assert_eq!(at(1), Err("grid x = n / 2 is 0".to_owned()));
        assert_eq!(at(-4), Err("grid x = n / 2 is no size".to_owned()));
        assert_eq!(at(1 << 40), Err(format!("grid x = n / 2 is {}", 1u64 << 39)));
        assert_eq!(kernel.shape(&|_| None), Err("grid x = n / 2 is no size".to_owned()));
    }
}
