//! `tilewright explain TW0007`: what a diagnostic code means, with an example.

use tilewright_ir::Code;
use tilewright_ir::diag::{CODES, CodeInfo, explain};
use tilewright_ir::op::OPS;

use super::Stop;
use crate::session::Session;

/// Explains a diagnostic code, or lists the primitive ops
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The code, as in `error[TW0007]`, or `ops`; without one, all codes are listed
    code: Option<String>,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let Some(text) = &args.code else {
        let list: String = CODES.iter().map(|row| format!("{}  {}\n", row.code, row.title)).collect();
        session.print(&list);
        return Ok(());
    };
    if text == "ops" {
        session.print(&ops());
        return Ok(());
    }
    match Code::parse(text).and_then(explain) {
        Some(row) => {
            session.print(&page(row));
            Ok(())
        }
        None => Err(Stop::Input(unknown(text))),
    }
}

/// The primitive ops, each with its operands, attributes and meaning.
fn ops() -> String {
    let mut out = String::new();
    for row in OPS {
        let rest = row.rest.map(|(kind, most)| format!("{kind:?} up to {most} more"));
        let args = row.args.iter().map(|kind| format!("{kind:?}")).chain(rest);
        let attrs = row.attrs.iter().map(|a| format!("{}{}", a.name, if a.required { "" } else { "?" }));
        let operands: Vec<String> = args.chain(attrs).collect();
        out.push_str(&format!("{}({})\n    {}\n", row.name, operands.join(", ").to_lowercase(), row.doc));
    }
    out
}

/// The page of one code.
fn page(row: &CodeInfo) -> String {
    let mut out = format!("{}: {}\n", row.code, row.title);
    if !row.explanation.is_empty() {
        out.push_str(&format!("\n{}\n", row.explanation.trim_end()));
    }
    if !row.example.is_empty() {
        out.push_str("\nExample:\n\n");
        for line in row.example.trim_matches('\n').lines() {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// The sentence about an unknown code, with those near by number.
fn unknown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let digits: String = short.chars().filter(char::is_ascii_digit).collect();
    let last = CODES.last().map_or(String::new(), |row| row.code.to_string());
    let Ok(number) = digits.parse::<i64>() else {
        return format!("`{short}` is no code; codes are written TW0001 to {last}");
    };
    let mut near: Vec<&CodeInfo> = CODES.iter().collect();
    near.sort_by_key(|row| (i64::from(row.code.0) - number).saturating_abs());
    let names: Vec<String> = near.iter().take(2).map(|row| format!("{} ({})", row.code, row.title)).collect();
    format!("there is no code `{short}`; near ones are {}", names.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_codes_get_near_ones() {
        assert!(unknown("TW9999").contains(&CODES.last().expect("codes").code.to_string()));
        assert!(unknown("7").contains("TW0007"));
        assert!(unknown("banana").contains("is no code"));
        assert!(unknown(&"9".repeat(100)).contains("is no code"));
    }
}
