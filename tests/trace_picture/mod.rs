//! A trace in the Trace Event Format drawn as an SVG picture: a band for each process, a row for each thread, time to the right.
//!
//! What must hold here: the picture depends on the trace alone; what is no trace is an error in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

/// Pixels: left of the rows, the rows, and their parts.
const LEFT: f64 = 220.0;
const WIDTH: f64 = 1150.0;
const ROW: f64 = 20.0;
const BAR: f64 = 16.0;
const MARGIN: f64 = 16.0;
/// Width of a letter at 10 pixels.
const LETTER: f64 = 6.1;
/// Most rows that a picture has room for.
const MOST_ROWS: usize = 400;

/// What a colour stands for: category, colour, words.
const COLOURS: [(&str, &str, &str); 6] = [
    ("kernel", "#dfe6ee", "wave"),
    ("line", "#9db8d2", "a source line of it"),
    ("wait", "#f4cf7a", "waiting for another"),
    ("packet", "#7fb8a4", "packet on an engine"),
    ("transfer", "#b9a3cf", "bytes on a link"),
    ("flow", "#c0504d", "made possible by"),
];

/// A slice: microseconds.
struct Slice<'a> {
    start: f64,
    duration: f64,
    name: &'a str,
    category: &'a str,
}

/// A row.
#[derive(Default)]
struct Row<'a> {
    name: &'a str,
    order: u64,
    slices: Vec<Slice<'a>>,
    y: f64,
}

/// Process and thread.
type Lane = (u64, u64);

/// Everything of a trace that is drawn.
#[derive(Default)]
struct Trace<'a> {
    processes: BTreeMap<u64, &'a str>,
    rows: BTreeMap<Lane, Row<'a>>,
    /// By id: where an arrow begins and ends.
    flows: BTreeMap<u64, [Option<(Lane, f64)>; 2]>,
}

/// The picture of a trace.
///
/// # Errors
/// What is wrong with the text, or that the trace is too large for a picture.
pub fn draw(json: &str) -> Result<String, String> {
    let json: Value = serde_json::from_str(json).map_err(|e| format!("this is no JSON: {e}"))?;
    let events = json["traceEvents"].as_array().ok_or("there is no `traceEvents`")?;
    let mut trace = Trace::default();
    for event in events {
        trace.take(event).ok_or_else(|| format!("this is no event of a trace: {event}"))?;
    }
    if trace.rows.len() > MOST_ROWS {
        return Err(format!("{} lanes are too many for a picture, {MOST_ROWS} would do", trace.rows.len()));
    }
    Ok(trace.draw())
}

impl<'a> Trace<'a> {
    /// Takes an event in; `None` if it lacks something.
    fn take(&mut self, event: &'a Value) -> Option<()> {
        let lane = (event["pid"].as_u64()?, event["tid"].as_u64()?);
        let at = event["ts"].as_f64()?;
        let name = event["name"].as_str()?;
        let args = &event["args"];
        match (event["ph"].as_str()?, name) {
            ("M", "process_name") => drop(self.processes.insert(lane.0, args["name"].as_str()?)),
            ("M", "thread_name") => self.rows.entry(lane).or_default().name = args["name"].as_str()?,
            ("M", "thread_sort_index") => self.rows.entry(lane).or_default().order = args["sort_index"].as_u64()?,
            ("X", _) => {
                let (duration, category) = (event["dur"].as_f64()?, event["cat"].as_str()?);
                self.rows.entry(lane).or_default().slices.push(Slice { start: at, duration, name, category });
            }
            ("s", _) => self.flows.entry(event["id"].as_u64()?).or_default()[0] = Some((lane, at)),
            ("f", _) => self.flows.entry(event["id"].as_u64()?).or_default()[1] = Some((lane, at)),
            _ => {}
        }
        Some(())
    }

    fn draw(mut self) -> String {
        let slices = || self.rows.values().flat_map(|row| &row.slices);
        let end = slices().map(|slice| slice.start + slice.duration).fold(1.0, f64::max);
        let scale = WIDTH / end;
        let mut body = String::new();
        legend(&mut body);
        let mut y = MARGIN + 34.0;
        let top = y;
        for (process, name) in &self.processes {
            let _ = writeln!(
                body,
                "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>",
                y + 13.0,
                escape(name)
            );
            let mut rows: Vec<(&Lane, &mut Row<'_>)> =
                self.rows.iter_mut().filter(|(lane, row)| lane.0 == *process && !row.slices.is_empty()).collect();
            rows.sort_by_key(|(lane, row)| (row.order, **lane));
            for (_, row) in rows {
                row.y = y;
                let _ = writeln!(
                    body,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    LEFT - 8.0,
                    y + 12.0,
                    escape(row.name)
                );
                row.slices.iter().for_each(|slice| bar(&mut body, slice, y, scale));
                y += ROW;
            }
            y += 10.0;
        }
        axis(&mut body, end, scale, (top, y));
        for ends in self.flows.values() {
            if let [Some(from), Some(to)] = ends {
                self.arrow(&mut body, *from, *to, scale);
            }
        }
        let (width, height) = (LEFT + WIDTH + 2.0 * MARGIN, y + 30.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Helvetica, sans-serif\" font-size=\"10\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }

    fn arrow(&self, out: &mut String, from: (Lane, f64), to: (Lane, f64), scale: f64) {
        let place = |(lane, at): (Lane, f64)| Some((LEFT + at * scale, self.rows.get(&lane)?.y + BAR / 2.0));
        let (Some((x1, y1)), Some((x2, y2))) = (place(from), place(to)) else { return };
        let colour = colour("flow");
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\" \
             stroke-opacity=\"0.8\"/><circle cx=\"{x2:.1}\" cy=\"{y2:.1}\" r=\"1.8\" fill=\"{colour}\"/>"
        );
    }
}

fn colour(category: &str) -> &'static str {
    COLOURS.iter().find(|(name, ..)| *name == category).map_or("#cccccc", |(_, colour, _)| colour)
}

fn legend(out: &mut String) {
    let mut x = LEFT;
    for (_, colour, words) in COLOURS {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{MARGIN}\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\">{words}</text>",
            x + 17.0,
            MARGIN + 10.0
        );
        x += 32.0 + words.len() as f64 * LETTER;
    }
}

fn bar(out: &mut String, slice: &Slice<'_>, y: f64, scale: f64) {
    let (x, width) = (LEFT + slice.start * scale, (slice.duration * scale).max(0.5));
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{}\" stroke=\"#606060\" stroke-width=\"0.3\"/>",
        colour(slice.category)
    );
    // The name of what holds others would lie below theirs.
    let room = ((width - 4.0) / LETTER) as usize;
    if slice.category == "kernel" || room < 5 {
        return;
    }
    let letters: Vec<char> = slice.name.chars().collect();
    let shown: String = if letters.len() <= room {
        slice.name.to_owned()
    } else {
        letters[..room - 1].iter().collect::<String>() + "…"
    };
    let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 2.0, y + 11.5, escape(&shown));
}

/// Lines at whole numbers of microseconds: about ten of them.
fn axis(out: &mut String, end: f64, scale: f64, (top, bottom): (f64, f64)) {
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    let step = steps.into_iter().find(|step| end / step <= 14.0).unwrap_or(end);
    let mut at = 0.0;
    while at <= end {
        let x = LEFT + at * scale;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#000000\" stroke-width=\"0.3\" \
             stroke-opacity=\"0.35\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{at:.0} us</text>",
            bottom + 14.0
        );
        at += step;
    }
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
