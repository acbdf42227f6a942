//! Communicators that mori's host library made, as a host hands them over.
//!
//! What must hold here: bytes are read with the offsets of `target::mori_abi`; whatever they hold, the answer is a rank or a
//! sentence.

use tilewright_target::mori_abi::{dev_comm, in_dev_comm, sdma_context};

use crate::driver::DeviceKind;
use crate::error::DriverError;
use crate::rank::LsaRank;

/// One rank of a communicator that this process drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoriRank {
    /// The HIP device that the rank runs on.
    pub device: i32,
    /// The bytes of its `ccoDevComm`, [`dev_comm::SIZE`] of them.
    pub dev_comm: Vec<u8>,
    /// The `hipStream_t` of that device that kernels run on, the program's own; `None`: one that is made for it.
    pub stream: Option<usize>,
}

/// What a `ccoDevComm` says about its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankFacts {
    pub(super) rank: LsaRank,
    pub(super) lsa_size: u32,
    pub(super) queues: u32,
}

fn refuse<T>(why: String) -> Result<T, DriverError> {
    Err(DriverError::Refused { device: DeviceKind::Hip, why: format!("cannot take the communicator: {why}") })
}

/// Reads a `ccoDevComm`.
///
/// # Errors
/// If it cannot be one.
pub(super) fn read(bytes: &[u8]) -> Result<RankFacts, DriverError> {
    if bytes.len() != dev_comm::SIZE as usize {
        return refuse(format!("a ccoDevComm has {} bytes, these are {}", dev_comm::SIZE, bytes.len()));
    }
    let word = |offset: u32| {
        let at = offset as usize;
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let long = |offset: u32| u64::from(word(offset)) | u64::from(word(offset + 4)) << 32;
    let (rank, size) = (word(dev_comm::LSA_RANK), word(dev_comm::LSA_SIZE));
    if size == 0 || size > tilewright_sim::node::MAX_RANKS || rank >= size {
        return refuse(format!(
            "its lsaRank is {} and its lsaSize {}, a node has 1 to {} ranks",
            rank.cast_signed(),
            size.cast_signed(),
            tilewright_sim::node::MAX_RANKS
        ));
    }
    let queues = word(in_dev_comm(sdma_context::SDMA_NUM_QUEUE));
    let signals = long(in_dev_comm(sdma_context::SIGNAL_BUF));
    if queues > 0 && signals == 0 {
        return refuse(format!("it has {queues} SDMA queues to each peer and no signals"));
    }
    Ok(RankFacts { rank: LsaRank::new(rank), lsa_size: size, queues })
}

/// Reads the communicators of all ranks of this process, which must agree and ascend.
///
/// # Errors
/// The first disagreement.
pub(super) fn read_all(ranks: &[MoriRank]) -> Result<Vec<RankFacts>, DriverError> {
    let facts = ranks.iter().map(|rank| read(&rank.dev_comm)).collect::<Result<Vec<_>, _>>()?;
    if facts.is_empty() {
        return refuse("no rank of it lives in this process".to_owned());
    }
    for pair in facts.windows(2) {
        if pair[1].rank <= pair[0].rank {
            return refuse(format!("{} follows {}; ranks ascend", pair[1].rank, pair[0].rank));
        }
        if (pair[0].lsa_size, pair[0].queues) != (pair[1].lsa_size, pair[1].queues) {
            return refuse(format!(
                "{} sees {} ranks and {} queues, {} sees {} and {}",
                pair[0].rank, pair[0].lsa_size, pair[0].queues, pair[1].rank, pair[1].lsa_size, pair[1].queues
            ));
        }
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use tilewright_sim::node::DevComm;

    use super::*;

    fn comm(lsa_rank: i32, lsa_size: i32, queues: u32) -> MoriRank {
        let comm = DevComm { lsa_rank, lsa_size, queues, signals: 0x5000, ..DevComm::default() };
        MoriRank { device: lsa_rank, dev_comm: comm.bytes(), stream: None }
    }

    #[test]
    fn ranks_may_be_some_of_the_node() {
        let facts = read_all(&[comm(2, 8, 4), comm(5, 8, 4)]).unwrap();
        assert_eq!(facts[1], RankFacts { rank: LsaRank::new(5), lsa_size: 8, queues: 4 });
        assert_eq!(facts[0].rank, LsaRank::new(2));
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_sentence() {
        let sentence = |ranks: &[MoriRank]| read_all(ranks).unwrap_err().to_string();
        let start = "the hip device cannot take the communicator: ";
        assert_eq!(sentence(&[]), format!("{start}no rank of it lives in this process"));
        let short = MoriRank { device: 0, dev_comm: vec![0; 208], stream: None };
        assert_eq!(sentence(&[short]), format!("{start}a ccoDevComm has 200 bytes, these are 208"));
        assert_eq!(
            sentence(&[comm(-1, 4, 1)]),
            format!("{start}its lsaRank is -1 and its lsaSize 4, a node has 1 to 64 ranks")
        );
        assert!(sentence(&[comm(1, 4, 1), comm(0, 4, 1)]).ends_with("ranks ascend"));
        assert!(sentence(&[comm(0, 4, 1), comm(1, 4, 2)]).contains("sees 4 ranks and 1 queues"));
    }
}
