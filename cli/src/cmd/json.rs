//! What went wrong, for scripts: the answer of a command that was asked for JSON and ends without success.
//!
//! Must hold: whoever asks for JSON gets exactly one JSON value on standard output, whatever comes of the command; only a
//! wrong command line (exit 2) is answered in words alone.

use serde_json::{Map, Value, json};
use tilewright_ir::{Diagnostic, Severity, Span};

/// Diagnostics about a text as JSON, in order.
pub(super) fn diagnostics(all: &[Diagnostic], file: &str, text: &str) -> Vec<Value> {
    let mut lines = vec![0];
    lines.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1));
    let one = |d: &Diagnostic| {
        let labels: Vec<Value> =
            d.labels.iter().map(|l| json!({ "message": l.text, "at": place(l.span, &lines, text) })).collect();
        json!({
            "code": d.code.to_string(),
            "severity": match d.severity { Severity::Error => "error", Severity::Warning => "warning" },
            "message": d.message,
            "file": file,
            "at": place(d.span, &lines, text),
            "labels": labels,
            "help": d.help,
        })
    };
    all.iter().map(one).collect()
}

/// The answer of a command that failed; `about` is what is known of it.
pub(super) fn failure(about: &Map<String, Value>, told: &[Value], why: Option<&str>) -> String {
    let mut all = Value::Object(about.clone());
    all["ok"] = json!(false);
    all["diagnostics"] = json!(told);
    if let Some(why) = why {
        all["error"] = json!(why);
    }
    format!("{all:#}\n")
}

/// A place: bytes, and lines and columns counted from 1, columns in characters; null where there is none.
fn place(span: Span, lines: &[usize], text: &str) -> Value {
    if span.is_none() {
        return Value::Null;
    }
    let at = |byte: u32| {
        let byte = (byte as usize).min(text.len());
        let line = lines.partition_point(|start| *start <= byte).saturating_sub(1);
        let before = text.as_bytes().get(lines[line]..byte).unwrap_or_default();
        (line + 1, String::from_utf8_lossy(before).chars().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (at(span.lo), at(span.hi));
    json!({
        "begin": span.lo, "end": span.hi,
        "line": line, "column": column, "end_line": end_line, "end_column": end_column,
    })
}

#[cfg(test)]
mod tests {
    use tilewright_ir::Code;

    use super::*;

    #[test]
    fn places_are_lines_and_columns() {
        let d = Diagnostic::error(Code::SYNTAX, Span::new(7, 9), "no").help("so");
        let all = diagnostics(&[d], "a.tile", "aé\nb\nxyz\n");
        assert_eq!(all[0]["at"]["line"], 3);
        assert_eq!((&all[0]["at"]["column"], &all[0]["at"]["end_column"]), (&json!(2), &json!(4)));
        assert_eq!(all[0]["help"][0], "so");
        let nowhere = Diagnostic::warning(Code::SYNTAX, Span::NONE, "no");
        assert_eq!(diagnostics(&[nowhere], "", "")[0]["at"], Value::Null);
    }
}
