//! The two kinds of rank: on this node, and in the whole world.
//!
//! What must hold here: there is no conversion between them but through a [`Node`], which knows where the node begins. mori's
//! signal slots, queues and windows go by node rank; a world rank in their place reads another rank's memory.
//!
//! ```compile_fail,E0308
//! use tilewright_runtime::{LsaRank, WorldRank};
//! fn wait_for(_: LsaRank) {}
//! wait_for(WorldRank::new(3)); // mismatched types
//! ```

use std::fmt;

/// A rank on this node: index of a peer that the copy engines reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsaRank(u32);

/// A rank in the whole world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldRank(u32);

impl LsaRank {
    /// The rank with that index on its node.
    pub const fn new(index: u32) -> Self {
        LsaRank(index)
    }

    /// Its index on the node.
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl WorldRank {
    /// The rank with that index in the world.
    pub const fn new(index: u32) -> Self {
        WorldRank(index)
    }

    /// Its index in the world.
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Display for LsaRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lsa rank {}", self.0)
    }
}

impl fmt::Display for WorldRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "world rank {}", self.0)
    }
}

/// A rank that is not where it was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// The world rank lives on another node.
    #[error("{rank} is on another node: this one has {} to {}", start.index(), u64::from(start.index()) + u64::from(*size) - 1)]
    OtherNode {
        /// The rank.
        rank: WorldRank,
        /// First rank of this node.
        start: WorldRank,
        /// Ranks of this node.
        size: u32,
    },
    /// The node has fewer ranks.
    #[error("{rank} does not exist: this node has {size} ranks")]
    OutOfRange {
        /// The rank.
        rank: LsaRank,
        /// Ranks of this node.
        size: u32,
    },
    /// Another process drives the rank.
    #[error("{rank} is not driven by this process; the node has {size} ranks")]
    NotDriven {
        /// The rank.
        rank: LsaRank,
        /// Ranks of the node.
        size: u32,
    },
    /// More or fewer than one thing a rank.
    #[error("there are {given} parts for {ranks} ranks that this process drives")]
    Count {
        /// What was given.
        given: usize,
        /// Ranks that this process drives.
        ranks: usize,
    },
    /// A node has at least one rank, and its last world rank fits 32 bits.
    #[error("a node of {size} ranks from {start} does not exist")]
    BadNode {
        /// First rank.
        start: WorldRank,
        /// Ranks.
        size: u32,
    },
}

/// Where this node lies in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    start: WorldRank,
    size: u32,
}

impl Node {
    /// A node of `size` ranks whose first is `start`.
    ///
    /// # Errors
    /// [`RankError::BadNode`] if it is empty or ends beyond 32 bits.
    pub const fn new(start: WorldRank, size: u32) -> Result<Node, RankError> {
        if size == 0 || start.0.checked_add(size).is_none() {
            return Err(RankError::BadNode { start, size });
        }
        Ok(Node { start, size })
    }

    /// Its number of ranks.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// All its ranks, ascending.
    pub fn ranks(&self) -> impl Iterator<Item = LsaRank> + use<> {
        (0..self.size).map(LsaRank)
    }

    /// The rank on this node of a world rank.
    ///
    /// # Errors
    /// [`RankError::OtherNode`] if it lives elsewhere.
    pub fn lsa(&self, rank: WorldRank) -> Result<LsaRank, RankError> {
        match rank.0.checked_sub(self.start.0) {
            Some(index) if index < self.size => Ok(LsaRank(index)),
            _ => Err(RankError::OtherNode { rank, start: self.start, size: self.size }),
        }
    }

    /// The world rank of a rank on this node.
    ///
    /// # Errors
    /// [`RankError::OutOfRange`] if the node has fewer ranks.
    pub fn world(&self, rank: LsaRank) -> Result<WorldRank, RankError> {
        self.checked(rank).map(|rank| WorldRank(self.start.0 + rank.0))
    }

    /// `(rank + by) mod size`, for either sign of `by`: the neighbours on the ring of this node.
    ///
    /// # Errors
    /// [`RankError::OutOfRange`] if the node has fewer ranks.
    pub fn ring(&self, rank: LsaRank, by: i64) -> Result<LsaRank, RankError> {
        let size = i64::from(self.size);
        let rank = i64::from(self.checked(rank)?.0);
        // Both summands are below 2^32 and the sum is not negative, so it fits and the result is below `size`.
        Ok(LsaRank(((rank + by.rem_euclid(size)) % size) as u32))
    }

    fn checked(&self, rank: LsaRank) -> Result<LsaRank, RankError> {
        if rank.0 < self.size { Ok(rank) } else { Err(RankError::OutOfRange { rank, size: self.size }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node::new(WorldRank::new(8), 8).unwrap()
    }

    #[test]
    fn ranks_convert_through_their_node_only() {
        assert_eq!(node().lsa(WorldRank::new(11)), Ok(LsaRank::new(3)));
        assert_eq!(node().world(LsaRank::new(3)), Ok(WorldRank::new(11)));
        assert_eq!(
            node().lsa(WorldRank::new(7)).unwrap_err().to_string(),
            "world rank 7 is on another node: this one has 8 to 15"
        );
        assert!(node().lsa(WorldRank::new(16)).is_err());
        assert_eq!(
            node().world(LsaRank::new(8)).unwrap_err().to_string(),
            "lsa rank 8 does not exist: this node has 8 ranks"
        );
    }

    #[test]
    fn the_ring_closes_both_ways() {
        let ring = |rank, by| node().ring(LsaRank::new(rank), by).map(LsaRank::index);
        assert_eq!(ring(7, 1), Ok(0));
        assert_eq!(ring(0, -1), Ok(7));
        assert_eq!(ring(5, 0), Ok(5));
        assert_eq!(ring(5, i64::MIN), Ok(5));
        assert_eq!(ring(5, i64::MAX), Ok(4));
        assert!(ring(8, 1).is_err());
    }

    #[test]
    fn impossible_nodes_are_refused() {
        assert!(Node::new(WorldRank::new(0), 0).is_err());
        assert_eq!(
            Node::new(WorldRank::new(u32::MAX), 2).unwrap_err().to_string(),
            "a node of 2 ranks from world rank 4294967295 does not exist"
        );
        assert_eq!(node().ranks().count(), 8);
    }
}
