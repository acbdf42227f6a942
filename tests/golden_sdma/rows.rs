//! The rows of the golden file, read into structures.
//!
//! Must hold: what a row says is read or refused with a sentence, never skipped over: an unknown field fails the row, unless it
//! is a remark in words.

use serde_json::Value;
use tilewright_sim::node::Counters;
use tilewright_target::{SdmaFacts, Target};

pub(crate) type Res<T> = Result<T, String>;

/// A case: a node of one rank, and launches one after the other.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The chip.
    pub(crate) target: &'static Target,
    /// Its engines.
    pub(crate) facts: &'static SdmaFacts,
    pub(crate) family: String,
    pub(crate) cfg: Config,
    /// Queues that do not start at zero.
    pub(crate) init: Vec<After>,
    pub(crate) schedule: String,
    /// Several waves with one queue: their order is free.
    pub(crate) any_order: bool,
    /// The newer document leaves one unit free, the snapshot none.
    pub(crate) doc_conflict: bool,
    pub(crate) steps: Vec<Step>,
}

/// The rank's communicator and windows.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
    pub(crate) lsa_size: u32,
    pub(crate) lsa_rank: u32,
    pub(crate) node_start: u32,
    pub(crate) queues: u32,
    /// Destination, source: base, stride in units of 2^32 bytes, rank.
    pub(crate) windows: [(u64, u32, i32); 2],
    pub(crate) signals: u64,
    pub(crate) peer_signals: Vec<u64>,
}

/// A launch.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) call: Call,
    pub(crate) block: u32,
    pub(crate) grid: u32,
    /// Thread, peer, queue, offset of destination and of source, bytes.
    pub(crate) lanes: Vec<[i64; 6]>,
    /// Slots and values.
    pub(crate) signals: Vec<(u64, u64)>,
    pub(crate) events: Vec<Event>,
    /// Whether it was still running when the last event fired.
    pub(crate) waited: bool,
    pub(crate) returned: Option<Vec<i64>>,
    pub(crate) hangs: bool,
    pub(crate) store_order: Option<Vec<String>>,
    pub(crate) after: Vec<After>,
}

/// What the threads call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) op: String,
    pub(crate) coop: String,
    pub(crate) local: bool,
    pub(crate) remote: bool,
    /// Bit 0 aggregate, bit 1 signal per copy.
    pub(crate) flags: u64,
    pub(crate) same_queue: bool,
}

/// What the host writes while a kernel runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Rptr { peer: u32, queue: u32, value: u64 },
    Signal { slot: u64, value: u64 },
}

/// A queue's counters, and what changed in its ring.
#[derive(Clone, Debug)]
pub(crate) struct After {
    pub(crate) peer: u32,
    pub(crate) queue: u32,
    pub(crate) counters: Counters,
    pub(crate) writes: Vec<(u64, Vec<u8>)>,
}

const ROW: &[&str] =
    &["name", "arch", "family", "cfg", "init", "schedule", "steps", "any_order", "doc_conflict", "note"];
const STEP: &[&str] = &[
    "op",
    "coop",
    "localSignal",
    "remoteSignal",
    "optFlags",
    "threadMode",
    "block",
    "grid",
    "lanes",
    "signals",
    "events",
    "waited",
    "returned",
    "hangs",
    "store_order",
    "after",
    "wave_instructions",
];

fn only(value: &Value, known: &[&str]) -> Res<()> {
    let fields = value.as_object().ok_or("not an object")?;
    match fields.iter().find(|(key, value)| !known.contains(&key.as_str()) && !value.is_string()) {
        Some((key, _)) => Err(format!("unknown field `{key}`")),
        None => Ok(()),
    }
}

fn number(value: &Value) -> Res<u64> {
    value.as_u64().ok_or_else(|| format!("{value} is no number"))
}

/// A number of either sign, as 64 bits.
fn signed(value: &Value) -> Res<i64> {
    value.as_i64().or_else(|| value.as_u64().map(|v| v as i64)).ok_or_else(|| format!("{value} is no number"))
}

fn word(value: &Value) -> Res<u32> {
    u32::try_from(number(value)?).map_err(|_| format!("{value} has more than 32 bits"))
}

fn text(value: &Value) -> Res<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no text"))
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Res<T>) -> Res<Vec<T>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(read).collect(),
        other => Err(format!("{other} is no list")),
    }
}

/// Absent is false; some flags are a sentence.
fn flag(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

impl Row {
    pub(crate) fn read(line: &str) -> Res<Row> {
        let row: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        only(&row, ROW)?;
        let (target, facts) = chip(&text(&row["arch"])?)?;
        Ok(Row {
            name: text(&row["name"])?,
            target,
            facts,
            family: text(&row["family"])?,
            cfg: config(&row["cfg"])?,
            init: list(&row["init"], after)?,
            schedule: text(&row["schedule"])?,
            any_order: flag(&row["any_order"]),
            doc_conflict: flag(&row["doc_conflict"]),
            steps: list(&row["steps"], step)?,
        })
    }
}

/// A chip and its engines.
pub(crate) fn chip(name: &str) -> Res<(&'static Target, &'static SdmaFacts)> {
    let target = tilewright_target::lookup(name).map_err(|e| e.to_string())?;
    Ok((target, target.sdma.as_ref().ok_or_else(|| format!("{name} has no engines"))?))
}

fn config(value: &Value) -> Res<Config> {
    let window = |name: &str| -> Res<(u64, u32, i32)> {
        let window = &value[name];
        Ok((number(&window["winBase"])?, word(&window["stride4G"])?, signed(&window["lsaRank"])? as i32))
    };
    Ok(Config {
        rank: word(&value["rank"])?,
        world_size: word(&value["worldSize"])?,
        lsa_size: word(&value["lsaSize"])?,
        lsa_rank: word(&value["lsaRank"])?,
        node_start: word(&value["myNodeStart"])?,
        queues: word(&value["sdmaNumQueue"])?,
        windows: [window("dstWin")?, window("srcWin")?],
        signals: number(&value["signalBuf"])?,
        peer_signals: list(&value["peerSignalPtrs"], number)?,
    })
}

fn step(value: &Value) -> Res<Step> {
    only(value, STEP)?;
    let flags = if value["optFlags"].is_null() { 0 } else { number(&value["optFlags"])? };
    if flags > 3 {
        return Err(format!("optFlags {flags}"));
    }
    Ok(Step {
        call: Call {
            op: text(&value["op"])?,
            coop: text(&value["coop"])?,
            local: flag(&value["localSignal"]),
            remote: flag(&value["remoteSignal"]),
            flags,
            same_queue: value["threadMode"] == "SameQueue",
        },
        block: word(&value["block"])?,
        grid: word(&value["grid"])?,
        lanes: list(&value["lanes"], |lane| {
            let numbers = list(lane, signed)?;
            <[i64; 6]>::try_from(numbers).map_err(|n| format!("a lane has {} numbers", n.len()))
        })?,
        signals: list(&value["signals"], |pair| Ok((number(&pair[0])?, number(&pair[1])?)))?,
        events: list(&value["events"], event)?,
        waited: flag(&value["waited"]),
        returned: match &value["returned"] {
            Value::Null => None,
            other => Some(list(other, signed)?),
        },
        hangs: flag(&value["hangs"]),
        store_order: match &value["store_order"] {
            Value::Null => None,
            other => Some(list(other, text)?),
        },
        after: list(&value["after"], after)?,
    })
}

fn event(value: &Value) -> Res<Event> {
    match value[0].as_str() {
        Some("rptr") => Ok(Event::Rptr { peer: word(&value[1])?, queue: word(&value[2])?, value: number(&value[3])? }),
        Some("signal") => Ok(Event::Signal { slot: number(&value[1])?, value: number(&value[2])? }),
        _ => Err(format!("{value} is no event")),
    }
}

fn after(value: &Value) -> Res<After> {
    let counters = Counters {
        rptr: number(&value["rptr"])?,
        wptr: number(&value["wptr"])?,
        doorbell: number(&value["doorbell"])?,
        cached_wptr: number(&value["cachedWptr"])?,
        committed_wptr: number(&value["committedWptr"])?,
        cached_hw_read_index: number(&value["cachedHwReadIndex"])?,
    };
    let writes = list(&value["writes"], |write| Ok((number(&write[0])?, bytes(&text(&write[1])?)?)))?;
    Ok(After { peer: word(&value["peer"])?, queue: word(&value["queueId"])?, counters, writes })
}

fn bytes(hex: &str) -> Res<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return Err(format!("`{hex}` is no hex"));
    }
    let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|e| format!("`{hex}`: {e}"));
    (0..hex.len()).step_by(2).map(pair).collect()
}
