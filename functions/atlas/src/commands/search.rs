//! `atlas search`

use std::io::{self, IsTerminal as _};

use atlas_tools::search::Search;
use clap::Args;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::color::Color;
use crate::commands::Outcome;
use crate::local::{Local, given};
use crate::output::{self, Ended, plain};
use crate::vault_location::LocationArguments;

/// Arguments of `atlas search`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Words, "phrases", word*, -word, tag:name, path:text; or as with --regex and --literal
    query: String,
    /// Find the lines that match QUERY as a regular expression, as ripgrep does
    #[arg(short = 'e', long, conflicts_with = "literal")]
    regex: bool,
    /// Find the lines that contain QUERY literally
    #[arg(short = 'F', long)]
    literal: bool,
    /// Only files whose paths match
    #[arg(short, long, value_name = "GLOB")]
    glob: Option<String>,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// Show lines around each match
    #[arg(short = 'C', long, value_name = "LINES", value_parser = clap::value_parser!(u8).range(0..=5))]
    context: Option<u8>,
    /// Most results [default: 10 notes, or 50 lines]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
    #[command(flatten)]
    location: LocationArguments,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas search`. If nothing is found the status is 1, as with grep.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let mode = match (arguments.regex, arguments.literal) {
        (true, _) => "regex",
        (_, true) => "literal",
        _ => "text",
    };
    let is_lines = mode != "text";
    let case = arguments.ignore_case.then_some("insensitive");
    let matches = matches(&arguments.query, mode, arguments.ignore_case);
    let call = given([
        ("query", Some(arguments.query.as_str().into())),
        ("mode", Some(mode).filter(|_| is_lines).map(Value::from)),
        ("path_filter", arguments.glob.map(Value::from)),
        ("case", case.filter(|_| is_lines).map(Value::from)),
        ("context_lines", arguments.context.filter(|_| is_lines).map(Value::from)),
        ("limit", arguments.limit.map(Value::from)),
    ]);
    let found = local.call(atlas_tools::entry::<Search>(), call).await?;
    let results = found["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if arguments.json {
        output::json(&found)?;
    } else {
        print(&found, results, matches.as_ref());
    }
    if results.is_empty() { Err(Ended::NothingFound.into()) } else { Ok(()) }
}

/// Prints as ripgrep does: on a terminal below the name of each file, elsewhere with the name before each line, for programs that read lines.
fn print(found: &Value, results: &[Value], matches: Option<&Regex>) {
    let color = Color::of(&io::stdout());
    let has_headings = io::stdout().is_terminal();
    let mut last = None;
    for result in results {
        let path = result["path"].as_str().unwrap_or_default();
        if last != Some(path) && has_headings {
            if last.is_some() {
                output::line("");
            }
            let title = result["title"].as_str().filter(|title| !path.ends_with(&format!("{title}.md")));
            let title = title.map(|title| format!("  {title}")).unwrap_or_default();
            output::painted(&format!("{}{}", color.path(path), plain(&title)));
        }
        let (before, after) = (lines(result, "before"), lines(result, "after"));
        if last.is_some() && !(has_headings && last != Some(path)) && before.len() + after.len() > 0 {
            output::line("--");
        }
        last = Some(path);
        let at = |number: u64, sign: char| match has_headings {
            true => format!("{}{sign}", color.number(number)),
            false => format!("{}{sign}{}{sign}", color.path(path), color.number(number)),
        };
        let number = result["line"].as_u64().unwrap_or_default();
        let text = result["text"].as_str().or_else(|| result["snippet"].as_str()).unwrap_or_default();
        for (line, number) in before.iter().zip(number.saturating_sub(before.len() as u64)..) {
            output::painted(&format!("{}{}", at(number, '-'), plain(line)));
        }
        let page = result["page"].as_u64().map(|page| format!("Page {page}: ")).unwrap_or_default();
        // A snippet may have several lines.
        for (line, number) in text.lines().zip(number..) {
            output::painted(&format!("{}{page}{}", at(number, ':'), color.matches(line, matches)));
        }
        for (line, number) in after.iter().zip(number.saturating_add(1)..) {
            output::painted(&format!("{}{}", at(number, '-'), plain(line)));
        }
    }
    for correction in found["corrections"].as_array().into_iter().flatten() {
        let instead: Vec<&str> =
            correction["instead"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let word = correction["word"].as_str().unwrap_or_default();
        output::note(format_args!("no note has {word:?}: searched for {}", instead.join(", ")));
    }
    if found.get("cursor").is_some() && io::stdout().is_terminal() {
        output::note("there is more: raise --limit, or add words");
    }
}

/// Finds the matches in the lines shown, if a pattern can express them.
fn matches(query: &str, mode: &str, ignore_case: bool) -> Option<Regex> {
    let pattern = match mode {
        "regex" => query.to_owned(),
        "literal" => regex::escape(query),
        _ => words(query)?,
    };
    RegexBuilder::new(&pattern).case_insensitive(ignore_case || mode == "text").build().ok()
}

/// A pattern for the words of a query.
fn words(query: &str) -> Option<String> {
    let asked = query.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains(':'));
    let words = asked.flat_map(|word| word.split(|character: char| !character.is_alphanumeric()));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(regex::escape).collect();
    (!words.is_empty()).then(|| format!(r"\b(?:{})", words.join("|")))
}

fn lines<'a>(result: &'a Value, name: &str) -> Vec<&'a str> {
    result[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
