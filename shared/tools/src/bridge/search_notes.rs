//! The note with the results of `find`, by the Atlas Local Bridge specification: each search overwrites it.

use std::fmt::Write as _;

use atlas_access::Access;
use atlas_ops::error::Error;
use atlas_ops::operation::{Context, Info};
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::bridge::found::FoundTerm;
use crate::bridge::paths::{BridgePaths, SEARCH_NOTES};

/// Writes the results for `term`. If that fails, the answer stays valid, and the log has the error.
pub(crate) async fn leave(
    context: &Context<'_>,
    operation: &Info,
    paths: BridgePaths,
    term: &str,
    results: &[FoundTerm],
) {
    if let Err(error) = write(context, operation, paths, &text(context.now, term, results)).await {
        let internal = error.internal.as_deref().unwrap_or(&error.message);
        tracing::warn!(reason = error.reason(), internal, "the search notes were not written");
    }
}

async fn write(context: &Context<'_>, operation: &Info, paths: BridgePaths, text: &str) -> Result<(), Error> {
    let path = writable::path("path", paths.resolve(SEARCH_NOTES))?;
    context.check(Access::Write, &path)?;
    let decide = |_: Option<&_>| Ok(NoteUpdate::Text(text.as_bytes().to_vec()));
    update::write(context, operation, &path, None, KnownInput::Written(text.as_bytes()), decide).await?;
    Ok(())
}

/// The note, at most some hundred lines: a search has few results, and each has a short quote.
fn text(now: Timestamp, term: &str, results: &[FoundTerm]) -> String {
    let now = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M");
    let term: String = term.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    let mut text = format!(
        "# Search Notes (Generated)\n\n_This file is overwritten on each search._\n\n## {now} — find: {term}\n### Results\n"
    );
    if results.is_empty() {
        text.push_str("\n- No matches found.\n");
    }
    for (number, FoundTerm { path, anchor, quote }) in (1..).zip(results) {
        let anchor = anchor.as_deref().unwrap_or("n/a");
        let quote = quote.as_ref().map_or_else(|| "(no excerpt)".to_owned(), |quote| quote.replace('\n', "\n> "));
        // Writing to a string does not fail.
        let _ = write!(text, "\n{number}) **{path}** — nearest heading: `{anchor}`\n\n> {quote}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_is_as_the_specification_has_it() {
        let found = |path: &str, anchor: Option<&str>, quote: Option<&str>| FoundTerm {
            path: path.to_owned(),
            anchor: anchor.map(str::to_owned),
            quote: quote.map(str::to_owned),
        };
        let now = "2026-11-21T14:03:59Z".parse().unwrap();
        let results = [found("vault/a.md", Some("#tides"), Some("one\ntwo")), found("vault/b.md", None, None)];
        assert_eq!(
            text(now, "high\n# tide", &results),
            "# Search Notes (Generated)\n\n_This file is overwritten on each search._\n\n\
             ## 2026-11-21 14:03 — find: high # tide\n### Results\n\n\
             1) **vault/a.md** — nearest heading: `#tides`\n\n> one\n> two\n\n\
             2) **vault/b.md** — nearest heading: `n/a`\n\n> (no excerpt)\n"
        );
        assert!(text(now, "x", &[]).ends_with("### Results\n\n- No matches found.\n"));
    }
}
