//! The kernels: one for each kind of call, with everything a lane says read from memory; or one for each case, with all of
//! it written down.
//!
//! A thread's line in the table `lanes` has six numbers: whether it calls at all, peer, queue, offset of the destination, of
//! the source, and bytes. A thread that came back from its call says so in `done`.

use std::collections::BTreeMap;

use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_target::Target;

use crate::rows::{Call, Res, Row, Step};

/// What tells kernels apart: call, threads of a block, blocks, and what is written down.
type Key = (Call, u32, u32, Option<[i64; 6]>);

/// The compiled kernels of a file.
pub(crate) struct Kernels {
    names: BTreeMap<Key, String>,
    pub(crate) object: Vec<u8>,
}

/// Numbers in a line of the table.
pub(crate) const COLUMNS: u32 = 6;

fn key(step: &Step, folded: bool) -> Key {
    let lane = folded.then(|| step.lanes[0]);
    (step.call.clone(), step.block, step.grid, lane)
}

/// Can the step's numbers be written down: one lane, or a leader, with a queue that may be a constant?
pub(crate) fn foldable(row: &Row) -> bool {
    row.steps.iter().all(|step| {
        let one = step.lanes.len() == 1 || step.call.coop != "thread";
        let posts = matches!(step.call.op.as_str(), "put" | "get");
        one && posts && !step.lanes.is_empty() && (0..i64::from(row.cfg.queues)).contains(&step.lanes[0][2])
    })
}

impl Kernels {
    /// Compiles what the rows need, which are of one chip.
    pub(crate) fn new(target: &'static Target, rows: &[&Row], folded: bool) -> Res<Kernels> {
        let mut names = BTreeMap::new();
        let mut text = String::new();
        for step in rows.iter().flat_map(|row| &row.steps) {
            let key = key(step, folded);
            if !names.contains_key(&key) {
                let name = format!("k{}", names.len());
                text.push_str(&kernel(&name, &key)?);
                names.insert(key, name);
            }
        }
        let options = Options { want: Want::finished(target), ..Options::default() };
        let compiled = compile_text(&text, target, &options).map_err(|all| format!("{all:#?}"))?;
        let object = compiled.made.and_then(|made| made.object).ok_or("no machine code")?;
        Ok(Kernels { names, object })
    }

    /// The kernel of a step.
    pub(crate) fn name(&self, step: &Step, folded: bool) -> Res<&str> {
        self.names.get(&key(step, folded)).map(String::as_str).ok_or_else(|| "no such kernel".to_owned())
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }
}

fn kernel(name: &str, (call, block, grid, lane): &Key) -> Res<String> {
    let threads = block * grid;
    let (body, queue) = match lane {
        None => (
            "let p = lanes![t * 6 + 1]; let q = lanes![t * 6 + 2]; let d = lanes![t * 6 + 3]; \
             let s = lanes![t * 6 + 4]; let n = lanes![t * 6 + 5]; let peer = lsa(p);"
                .to_owned(),
            "q".to_owned(),
        ),
        Some([_, peer, queue, ..]) => (format!("let peer = lsa({peer});"), queue.to_string()),
    };
    let post = post(call, lane.as_ref(), &queue)?;
    Ok(format!(
        "kernel {name}(comm: devcomm, dst: window<u8>[1099511627776], src: window<u8>[1099511627776], \
         lanes: global<i64>[{}], done: global<i32>[{threads}]) launch(grid = [{grid}], block = [{block}]) {{ \
         let t = block.x * {block} + thread.x; let calls = lanes![t * 6]; \
         if calls == 1 {{ {body} {post} done![t] = 1; }} }}\n",
        threads * COLUMNS
    ))
}

/// The op that is a call of mori's.
fn post(call: &Call, lane: Option<&[i64; 6]>, queue: &str) -> Res<String> {
    let Call { op, coop, local, remote, flags, same_queue } = call;
    let mode = if *same_queue { "same_queue" } else { "independent" };
    let (aggregate, per_copy) = (flags & 1 != 0, flags & 2 != 0);
    let (dst, src, bytes) = match lane {
        None => ("d".to_owned(), "s".to_owned(), "n".to_owned()),
        Some([.., dst, src, bytes]) => (dst.to_string(), src.to_string(), bytes.to_string()),
    };
    Ok(match op.as_str() {
        "put" | "get" => {
            let (to, from) = if op == "put" { ("@peer", "") } else { ("", "@peer") };
            format!(
                "sdma.{op}(dst{to}![{dst}], src{from}![{src}], peer, {bytes}, {queue}, coop = {coop}, mode = {mode}, \
                 local_signal = {local}, remote_signal = {remote}, aggregate = {aggregate}, \
                 signal_per_copy = {per_copy});"
            )
        }
        // At warp and block scope mori's commit rings all queues towards the peer.
        "commit" if coop != "thread" => format!("sdma.commit_all(peer, coop = {coop});"),
        "commit" => format!("sdma.commit(peer, {queue}, coop = {coop});"),
        "quietQueue" => format!("sdma.quiet_queue(peer, {queue}, coop = {coop});"),
        "quiet" => format!("sdma.quiet(peer, coop = {coop});"),
        "waitSignal" => format!("sdma.wait_signal(peer, {bytes}, {queue});"),
        other => return Err(format!("there is no call `{other}`")),
    })
}
