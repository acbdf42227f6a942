//! Cutting the layouts of several operands at their common boundaries.
//!
//! All sides count the same elements in the same order. From the fast end, the greatest common part of the innermost
//! iters becomes a digit; where the sides have nothing in common (3 x 8 against 4 x 6 leaves 3 x 4 against 4 x 3), the
//! shortest stretch whose products agree becomes a mixed chunk, to be addressed by division and remainder.

use tilewright_ir::facts::{Facts, gcd};
use tilewright_ir::layout::Iter;
use tilewright_ir::{Axis, Dim};

/// A stretch of the index, the same on all sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of values.
    pub extent: Dim,
    /// For each side the iters that it is made of, outermost first, their extents multiplying to `extent`. One iter on
    /// each side: a plain digit.
    pub sides: Vec<Vec<Iter>>,
}

impl Chunk {
    /// One digit on every side?
    pub fn is_digit(&self) -> bool {
        self.sides.iter().all(|s| s.len() == 1)
    }

    /// Stride and axis of a side of a plain digit (of its innermost iter otherwise).
    pub fn iter(&self, side: usize) -> Option<&Iter> {
        self.sides.get(side).and_then(|s| s.last())
    }
}

/// The common chunks of the sides, outermost first. Unit iters are dropped.
///
/// # Errors
/// A sentence with the sizes, if the sides do not have the same number of elements.
pub fn refine(sides: &[Vec<Iter>], facts: &Facts) -> Result<Vec<Chunk>, String> {
    let mut rest: Vec<Vec<Iter>> =
        sides.iter().map(|s| s.iter().filter(|it| !it.extent.is(1)).cloned().collect()).collect();
    let mut out = Vec::new();
    while rest.iter().any(|s| !s.is_empty()) {
        if rest.iter().any(Vec::is_empty) {
            return Err(sizes(sides));
        }
        let chunk = match common(&rest, facts) {
            Some(extent) if !extent.is(1) => take_digit(&mut rest, &extent, facts),
            _ => take_mixed(&mut rest, facts),
        };
        out.push(chunk.ok_or_else(|| sizes(sides))?);
    }
    out.reverse();
    Ok(out)
}

fn sizes(sides: &[Vec<Iter>]) -> String {
    let size = |s: &Vec<Iter>| s.iter().fold(Dim::ONE, |p, it| p.mul(&it.extent)).to_string();
    let all: Vec<String> = sides.iter().map(size).collect();
    format!("the sides have {} elements", all.join(" and "))
}

/// Extent of the innermost digit that all sides have, or `None` if they have none in common. A side with one iter left
/// takes whatever the others say: its extent is the product of theirs.
fn common(rest: &[Vec<Iter>], facts: &Facts) -> Option<Dim> {
    let tops: Vec<&Dim> = rest.iter().filter_map(|s| s.last()).map(|it| &it.extent).collect();
    let first = *tops.first()?;
    if tops.iter().all(|e| *e == first) {
        return Some(first.clone());
    }
    let open: Vec<&Dim> = rest.iter().filter(|s| s.len() > 1).filter_map(|s| s.last()).map(|it| &it.extent).collect();
    let Some(&lead) = open.first() else {
        // All sides are down to one iter; extents were checked to be equal, so any of them will do.
        let consts: Vec<i64> = tops.iter().filter_map(|e| e.as_const()).collect();
        let agree = consts.windows(2).all(|w| w[0] == w[1]);
        return agree.then(|| consts.first().map_or_else(|| first.clone(), |c| Dim::Const(*c)));
    };
    if open.iter().all(|e| *e == lead) {
        return Some(lead.clone());
    }
    let consts = open.iter().filter_map(|e| e.as_const());
    let step = consts.fold(0, gcd);
    if step == 0 {
        return None; // only symbolic ones, not equal
    }
    let divides = |n: i64| open.iter().all(|e| e.as_const().is_some() || facts.is_multiple(e, n));
    let symbolic = open.iter().filter(|e| e.as_const().is_none());
    let step = symbolic.fold(step, |n, e| gcd(n, facts.multiple_of(e)));
    (step > 1 && divides(step)).then_some(Dim::Const(step))
}

/// Takes a digit of `extent` off the fast end of every side.
fn take_digit(rest: &mut [Vec<Iter>], extent: &Dim, facts: &Facts) -> Option<Chunk> {
    let mut sides = Vec::with_capacity(rest.len());
    // Sides that are down to their last iter end with this digit only if all do.
    let all_end = rest.iter().all(|s| s.len() == 1 && s[0].extent == *extent) || rest.iter().all(|s| s.len() == 1);
    for side in rest.iter_mut() {
        let it = side.pop()?;
        let ends = all_end || it.extent == *extent;
        if !ends {
            let known = it.extent.as_const().is_some() && extent.as_const().is_some();
            let left = match it.extent.div_exact(extent) {
                Some(left) => left,
                None if known => return None, // the sizes differ
                None => facts.div(&it.extent, extent),
            };
            side.push(Iter { extent: left, stride: it.stride.mul(extent), axis: it.axis.clone() });
        }
        sides.push(vec![Iter { extent: extent.clone(), ..it }]);
    }
    Some(Chunk { extent: extent.clone(), sides })
}

/// Takes the shortest stretch with equal products off every side, or all that is left.
fn take_mixed(rest: &mut [Vec<Iter>], facts: &Facts) -> Option<Chunk> {
    let Some(extent) = equal_products(rest) else {
        let sides: Vec<Vec<Iter>> = rest.iter_mut().map(std::mem::take).collect();
        let sizes: Vec<Dim> = sides.iter().map(|s| s.iter().fold(Dim::ONE, |p, it| p.mul(&it.extent))).collect();
        let known: Vec<i64> = sizes.iter().filter_map(Dim::as_const).collect();
        let agree = known.windows(2).all(|w| w[0] == w[1]);
        return agree.then(|| Chunk { extent: sizes[0].clone(), sides });
    };
    let mut sides = Vec::with_capacity(rest.len());
    for side in rest.iter_mut() {
        let (mut parts, mut product) = (Vec::new(), 1i64);
        while product < extent {
            let it = side.pop()?;
            let want = extent / product;
            let size = it.extent.as_const().filter(|e| *e <= want);
            if size.is_none() {
                // The last iter of its side: it goes on outside.
                let left = facts.div(&it.extent, &Dim::Const(want));
                side.push(Iter { extent: left, stride: it.stride.mul(&Dim::Const(want)), axis: it.axis.clone() });
            }
            let taken = size.unwrap_or(want);
            product = product.checked_mul(taken)?;
            parts.push(Iter { extent: Dim::Const(taken), ..it });
        }
        parts.reverse();
        sides.push(parts);
    }
    Some(Chunk { extent: Dim::Const(extent), sides })
}

/// Smallest product of inner iters that all sides with more than one iter reach.
fn equal_products(rest: &[Vec<Iter>]) -> Option<i64> {
    let open: Vec<&Vec<Iter>> = rest.iter().filter(|s| s.len() > 1).collect();
    let mut taken = vec![0usize; open.len()];
    let mut products = vec![1i64; open.len()];
    loop {
        let low = (0..open.len()).min_by_key(|&k| products[k])?;
        let (min, max) = (products[low], products.iter().copied().max()?);
        if min == max && min > 1 {
            return Some(min);
        }
        let side = open[low];
        let it = side.len().checked_sub(1 + taken[low]).and_then(|at| side.get(at))?;
        products[low] = products[low].checked_mul(it.extent.as_const()?)?;
        taken[low] += 1;
    }
}

/// Is the iter on an axis of memory that threads address themselves?
pub(super) fn is_memory(axis: &Axis) -> bool {
    *axis == Axis::M
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::Name;

    fn m(list: &[(i64, i64)]) -> Vec<Iter> {
        list.iter().map(|(e, s)| Iter::new(*e, *s, Axis::M)).collect()
    }

    /// Address of flat index `x` by the chunks, for one side.
    fn address(chunks: &[Chunk], side: usize, mut x: i64) -> i64 {
        let mut sum = 0;
        for c in chunks.iter().rev() {
            for it in c.sides[side].iter().rev() {
                let e = it.extent.as_const().unwrap();
                sum += x % e * it.stride.as_const().unwrap();
                x /= e;
            }
        }
        sum
    }

    fn check(sides: &[Vec<Iter>]) -> Vec<Chunk> {
        let chunks = refine(sides, &Facts::new()).unwrap();
        let total: i64 = sides[0].iter().map(|it| it.extent.as_const().unwrap()).product();
        let own = |side: usize, x| address(&[Chunk { extent: Dim::ONE, sides: sides.to_vec() }], side, x);
        for c in &chunks {
            for s in &c.sides {
                assert_eq!(s.iter().fold(Dim::ONE, |p, it| p.mul(&it.extent)), c.extent);
            }
        }
        for side in 0..sides.len() {
            for x in 0..total {
                assert_eq!(address(&chunks, side, x), own(side, x), "side {side} at {x}");
            }
        }
        chunks
    }

    #[test]
    fn nested_boundaries_give_plain_digits() {
        let chunks = check(&[m(&[(8, 64), (64, 1)]), m(&[(4, 1000), (2, 100), (8, 8), (8, 1)])]);
        assert!(chunks.iter().all(Chunk::is_digit));
        assert_eq!(chunks.len(), 4);
    }

    #[test]
    fn coprime_boundaries_give_the_shortest_mixed_chunk() {
        let chunks = check(&[m(&[(5, 24), (3, 8), (8, 1)]), m(&[(5, 100), (4, 7), (6, 50)])]);
        assert_eq!(chunks.len(), 3);
        assert!(chunks[0].is_digit() && chunks[0].extent.is(5));
        assert!(!chunks[1].is_digit() && chunks[1].extent.is(12));
        assert!(chunks[2].is_digit() && chunks[2].extent.is(2));
    }

    #[test]
    fn three_sides() {
        check(&[m(&[(24, 1)]), m(&[(4, 6), (6, 1)]), m(&[(2, 12), (12, 1)])]);
        check(&[m(&[(6, 4), (4, 1)]), m(&[(4, 6), (6, 1)]), m(&[(3, 8), (8, 1)])]);
        check(&[m(&[(9, 10), (10, 1)]), m(&[(10, 9), (9, 1)]), m(&[(90, 3)])]);
    }

    #[test]
    fn symbolic_extents() {
        let n = Dim::from(&Name::new("n"));
        let a = vec![Iter::new(n.clone(), 64, Axis::M), Iter::new(64, 1, Axis::M)];
        let b = vec![Iter::new(n.mul(&Dim::Const(8)), 8, Axis::M), Iter::new(8, 1, Axis::M)];
        let chunks = refine(&[a.clone(), b], &Facts::new()).unwrap();
        let extents: Vec<String> = chunks.iter().map(|c| c.extent.to_string()).collect();
        assert_eq!(extents, ["n", "8", "8"]);
        assert!(chunks.iter().all(Chunk::is_digit));
        assert_eq!(chunks[0].sides[1][0].stride, Dim::Const(64));
        assert!(refine(&[a, m(&[(4, 1), (1, 1)])], &Facts::new()).is_err());
    }

    #[test]
    fn sizes_must_agree() {
        let err = refine(&[m(&[(2, 2), (3, 1)]), m(&[(2, 2), (2, 1)])], &Facts::new());
        assert!(err.is_err());
    }
}
