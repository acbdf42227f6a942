//! `tilewright layout`: what a layout is, in numbers and as a picture; `--batch` answers requests.

use std::io::{BufRead, Read};
use std::path::PathBuf;

use tilewright_ir::text::parse_layout;
use tilewright_ir::{DType, Dim, Layout};
use tilewright_target::Target;

use super::{Input, Stop, parse_target, put};
use crate::layout::{self, Question, batch};
use crate::session::Session;

/// Shows a layout: sizes, forms, what it covers, bank conflicts, and a picture
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The layout, such as `S[(8,4,2,2):(4@laneid,1@laneid,2,1)]`
    #[arg(value_name = "LAYOUT", required_unless_present = "batch")]
    layout: Option<String>,
    /// Shape of the buffer, such as `8,16`; the extents of the layout by default
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    shape: Vec<i64>,
    /// Lanes of a warp: 32, or the target's
    #[arg(long, value_parser = parse_warp)]
    warp: Option<u32>,
    /// Takes the lanes of a warp and the banks of shared memory (else 32) from a target
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<&'static Target>,
    /// Threads of the CTA; by default as many as the layout needs, in whole warps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Type of the elements
    #[arg(long, default_value = "f16", value_parser = parse_dtype)]
    dtype: DType,
    /// Writes the picture as SVG; `-` is standard output
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Print JSON instead of words and a picture
    #[arg(long)]
    pub(super) json: bool,
    /// Answer requests: one JSON object a line on standard input, one answer a line on standard output
    #[arg(long, conflicts_with_all = ["layout", "shape", "svg", "json", "threads", "dtype"])]
    batch: bool,
}

/// Banks of 4 bytes where no target is named: all chips but gfx950 have so many.
const BANKS: u32 = 32;

impl Args {
    fn warp(&self) -> u32 {
        self.warp.or(self.target.map(|t| t.warp_size)).unwrap_or(32)
    }
}

fn parse_warp(text: &str) -> Result<u32, String> {
    match text {
        "32" => Ok(32),
        "64" => Ok(64),
        _ => Err("a warp has 32 or 64 lanes".to_owned()),
    }
}

fn parse_dtype(text: &str) -> Result<DType, String> {
    DType::parse(text).ok_or_else(|| format!("`{text}` is no element type"))
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let Some(text) = args.layout.as_ref().filter(|_| !args.batch) else {
        return answer_all(args.warp(), session);
    };
    let question = question(args, text, session)?;
    let facts = layout::facts(&question);
    let grids = layout::grids(&question);
    if let Some(out) = &args.svg {
        let grids = grids.as_ref().map_err(|why| Stop::Input(why.clone()))?;
        put(session, Some(out), layout::svg(&facts.layout, grids).as_bytes(), "the picture")?;
        if out == std::path::Path::new("-") {
            return Ok(());
        }
    }
    if args.json {
        let mut json = facts.json(&question);
        if let Err(why) = &grids {
            json["picture"] = serde_json::json!(why);
        }
        session.print(&format!("{json:#}\n"));
        return Ok(());
    }
    session.print(&facts.text(&question));
    match grids {
        Err(why) => session.print(&format!("\n{why}\n")),
        Ok(grids) => {
            let coloured = session.out_is_terminal() && !session.env.no_color;
            for grid in &grids {
                session.print(&format!("\n{}", layout::terminal(grid, coloured)));
            }
        }
    }
    Ok(())
}

/// Reads the layout and what it is looked at with.
fn question(args: &Args, text: &str, session: &mut Session) -> Result<Question, Stop> {
    let parsed = parse_layout(text).map_err(|all| {
        let input = Input { name: "<layout>".to_owned(), text: text.to_owned() };
        input.tell_all(session, &all)
    })?;
    if let Some(s) = parsed.swizzle {
        s.verify().map_err(|e| Stop::Input(e.to_string()))?;
    }
    let shape = shape(args, &parsed)?;
    let dims: Vec<Dim> = shape.iter().map(|n| Dim::Const(*n)).collect();
    let layout = parsed.over(&dims);
    // A tile that was written is meant, also where a swizzle over the identity could take the shape's size.
    let size = if parsed.tile.shard.is_empty() { layout.tile.size() } else { parsed.tile.size() };
    let Some(wanted) = shape.iter().try_fold(1i64, |p, n| p.checked_mul(*n)) else {
        return Err(Stop::Input(format!("the shape {shape:?} has more than 2^63 elements")));
    };
    if size.as_const() != Some(wanted) {
        return Err(Stop::Input(format!("the layout has {size} elements, the shape {shape:?} has {wanted}")));
    }
    let (warp, banks) = (args.warp(), args.target.map_or(BANKS, |t| t.lds_banks));
    let mut question = Question { layout, shape, warp, banks, threads: warp, dtype: args.dtype };
    question.threads = args.threads.unwrap_or_else(|| threads(&question));
    Ok(question)
}

fn shape(args: &Args, layout: &Layout) -> Result<Vec<i64>, Stop> {
    if let Some(n) = args.shape.iter().find(|n| **n < 1) {
        return Err(Stop::Usage(format!("an extent of the shape must be at least 1, it is {n}")));
    }
    if !args.shape.is_empty() {
        return Ok(args.shape.clone());
    }
    if layout.tile.shard.is_empty() {
        return match layout.swizzle {
            Some(s) if s.period() <= layout::MOST_PLACES => Ok(vec![s.period()]),
            _ => Err(Stop::Usage("the layout has no extents of its own: give --shape".to_owned())),
        };
    }
    let extents: Option<Vec<i64>> = layout.tile.shard.iter().map(|it| it.extent.as_const()).collect();
    let symbolic = || Stop::Input("extents that are not constant: put numbers in their place".to_owned());
    let extents = extents.ok_or_else(symbolic)?;
    match extents.iter().find(|n| **n < 1) {
        Some(n) => Err(Stop::Input(format!("extent {n} of an iter is not positive"))),
        None => Ok(extents),
    }
}

/// Threads that the layout names, rounded up to whole warps; warpgroups where it names those.
fn threads(q: &Question) -> u32 {
    let mut most = 0i64;
    for axis in q.layout.tile.thread_axes() {
        if let (Ok((_, hi)), Some(step)) = (q.layout.tile.bounds_on(&axis), axis.thread_stride(q.warp)) {
            most = most.saturating_add(hi.saturating_mul(step));
        }
    }
    let warp = i64::from(q.warp);
    let whole = (most.clamp(0, 1023) / warp + 1) * warp;
    u32::try_from(whole).unwrap_or(q.warp)
}

/// Longest line of a request in bytes.
const MOST_LINE: u64 = 64 << 20;

/// Reads requests until the input ends or nobody reads the answers.
fn answer_all(warp: u32, session: &mut Session) -> Result<(), Stop> {
    let mut input = std::io::stdin().lock();
    let mut number = 0;
    loop {
        number += 1;
        let mut line = Vec::new();
        let read = input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) => return Err(Stop::Input(format!("cannot read standard input: {e}"))),
        }
        let whole = line.len() as u64 != MOST_LINE || line.ends_with(b"\n");
        if !whole {
            input.skip_until(b'\n').map_err(|e| Stop::Input(format!("cannot read standard input: {e}")))?;
        }
        match std::str::from_utf8(&line) {
            Ok(text) if whole && text.trim().is_empty() => continue,
            Ok(text) if whole => session.print(&batch::answer(text, number, warp)),
            _ => session.print(&batch::not_text(number)),
        }
        if session.is_closed() {
            return Ok(());
        }
    }
}
