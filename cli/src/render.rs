//! Drawing diagnostics: rustc's style, several at once.
//!
//! Must hold: any diagnostic can be drawn, whatever its spans (places outside the text are cut to it, places inside a
//! character are moved to its edge), and the time to draw does not depend on the length of the rest of the file.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use tilewright_ir::{Diagnostic, Severity, Span};

/// Most diagnostics that are drawn; the rest are counted.
const MOST: usize = 50;

/// A source text with its name.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name to show.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Draws `diagnostics` about `source`, each followed by an empty line, errors counted at the end.
pub fn render(diagnostics: &[Diagnostic], source: Source, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(MOST) {
        out.push_str(&renderer.render(&groups(diagnostic, source)));
        out.push_str("\n\n");
    }
    if diagnostics.len() > MOST {
        out.push_str(&format!("… and {} more\n\n", diagnostics.len() - MOST));
    }
    out.push_str(&summary(diagnostics));
    out
}

/// `error: 2 errors, 1 warning` — the last line; empty if there is nothing to count or only warnings.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, _) => String::new(),
        (_, 0) => format!("{}\n", count(errors, "error")),
        (_, _) => format!("{}, {}\n", count(errors, "error"), count(warnings, "warning")),
    }
}

/// The message with its places, then each help.
fn groups<'a>(diagnostic: &'a Diagnostic, source: Source<'a>) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code.to_string());
    let mut main = Group::with_title(title);
    if let Some(snippet) = snippet(diagnostic, source) {
        main = main.element(snippet);
    }
    for help in &diagnostic.help {
        main = main.element(Level::HELP.message(help));
    }
    vec![main]
}

/// The lines that the diagnostic points at; `None` if it has no place.
fn snippet<'a>(diagnostic: &'a Diagnostic, source: Source<'a>) -> Option<Snippet<'a, Annotation<'a>>> {
    if diagnostic.span.is_none() && diagnostic.labels.iter().all(|label| label.span.is_none()) {
        return None;
    }
    let places = std::iter::once(diagnostic.span).chain(diagnostic.labels.iter().map(|label| label.span));
    let window = window(places, source.text);
    let (text, line) = (&source.text[window.clone()], line_of(source.text, window.start));
    let mut snippet = Snippet::source(text).path(source.name).line_start(line).fold(true);
    let inside = |span: Span| {
        let range = clamp(span, source.text);
        range.start - window.start..range.end - window.start
    };
    if !diagnostic.span.is_none() {
        let primary = AnnotationKind::Primary.span(inside(diagnostic.span));
        let label = Some(diagnostic.label.as_str()).filter(|label| !label.is_empty());
        snippet = snippet.annotation(primary.label(label));
    }
    for label in diagnostic.labels.iter().filter(|label| !label.span.is_none()) {
        let words = Some(label.text.as_str()).filter(|text| !text.is_empty());
        snippet = snippet.annotation(AnnotationKind::Context.span(inside(label.span)).label(words));
    }
    Some(snippet)
}

/// Bytes of a line before and after the places that are drawn. The drawing library's time grows with the line, so of a
/// longer line only this much is shown (its columns are then counted from there).
const MARGIN: usize = 2000;

/// The whole lines around the places, so that drawing looks at nothing else of a long file.
fn window(places: impl Iterator<Item = Span>, text: &str) -> Range<usize> {
    let (mut lo, mut hi) = (text.len(), 0);
    for range in places.filter(|span| !span.is_none()).map(|span| clamp(span, text)) {
        lo = lo.min(range.start);
        hi = hi.max(range.end);
    }
    let hi = hi.max(lo);
    let start = text[..lo].rfind('\n').map_or(0, |at| at + 1);
    let end = text[hi..].find('\n').map_or(text.len(), |at| hi + at);
    let start = start.max(text.floor_char_boundary(lo.saturating_sub(MARGIN)));
    start..end.min(text.ceil_char_boundary(hi.saturating_add(MARGIN).min(text.len())))
}

/// The span as a range of `text` that begins and ends at characters.
fn clamp(span: Span, text: &str) -> Range<usize> {
    let lo = text.floor_char_boundary((span.lo as usize).min(text.len()));
    let hi = text.ceil_char_boundary((span.hi as usize).clamp(lo, text.len()));
    lo..hi
}

/// One-based number of the line that byte `at` stands in.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::Code;

    fn draw(diagnostic: Diagnostic, text: &str) -> String {
        render(&[diagnostic], Source { name: "t.tile", text }, false)
    }

    #[test]
    fn an_error_shows_its_line_label_and_help() {
        let text = "kernel a() {\n    copy x <- y by cta;\n}\n";
        let shown = draw(
            Diagnostic::error(Code::UNKNOWN_NAME, Span::new(22, 23), "unknown name `x`")
                .label("not a buffer")
                .also(Span::new(7, 8), "in this kernel")
                .help("declare it"),
            text,
        );
        for part in
            ["error[TW0005]: unknown name `x`", "t.tile:2:10", "^ not a buffer", "in this kernel", "help: declare it"]
        {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
        assert!(shown.ends_with("1 error\n"), "{shown}");
    }

    #[test]
    fn no_place_no_snippet() {
        let shown = draw(Diagnostic::error(Code::UNKNOWN_TARGET, Span::NONE, "unknown target `a`"), "");
        assert_eq!(shown, "error[TW0038]: unknown target `a`\n\n1 error\n");
    }

    #[test]
    fn any_span_can_be_drawn() {
        for text in ["", "\n", "é", "a\r\nb", "\u{1b}[31m\t∆\0", "x\ny\nz"] {
            for lo in 0..text.len() + 3 {
                for hi in 0..text.len() + 3 {
                    let span = Span { lo: lo as u32, hi: hi as u32 };
                    draw(
                        Diagnostic::error(Code::SYNTAX, span, "m").label("l").also(span, "s").also(Span::NONE, "n"),
                        text,
                    );
                }
            }
        }
    }

    #[test]
    fn of_a_long_line_only_the_surroundings_are_drawn() {
        let text = format!("{}x{}", "é".repeat(1_000_000), "y".repeat(1_000_000));
        let shown = draw(Diagnostic::error(Code::SYNTAX, Span::new(2_000_000, 2_000_001), "m").label("here"), &text);
        assert!(shown.contains("^ here") && shown.len() < 20_000, "{} bytes", shown.len());
    }

    #[test]
    fn many_diagnostics_are_cut() {
        let all = vec![Diagnostic::error(Code::SYNTAX, Span::new(0, 1), "m"); MOST + 3];
        let shown = render(&all, Source { name: "t", text: "x" }, false);
        assert!(shown.contains("and 3 more") && shown.ends_with("53 errors\n"), "{shown}");
    }
}
