//! The rows of `query_notes` as lines of text: CSV (RFC 4180), JSON Lines, a table in markdown.

use atlas_expressions::render::table_row;
use serde_json::{Map, Value};

/// The format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Values between commas, a row a line.
    Csv,
    /// A JSON object for each row, with the columns' names.
    JsonLines,
    /// A table.
    Markdown,
}

/// The rows of an answer of `query_notes`; `is_first` says whether it is the first page, which alone has the columns' names in CSV and
/// markdown, so that pages can be joined.
#[must_use]
pub fn lines(answer: &Value, format: Format, is_first: bool) -> String {
    let list = |name: &str| answer.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let columns: Vec<&str> = list("columns").iter().filter_map(Value::as_str).collect();
    let rows = list("rows").iter().filter_map(Value::as_array);
    let mut text = String::new();
    match format {
        Format::JsonLines => {
            for row in rows {
                let object: Map<String, Value> =
                    columns.iter().zip(row).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
                text.push_str(&Value::Object(object).to_string());
                text.push('\n');
            }
        }
        Format::Csv => {
            let mut add = |cells: Vec<String>| {
                text.push_str(&cells.join(","));
                text.push_str("\r\n");
            };
            if is_first {
                add(columns.iter().map(|name| quoted(name)).collect());
            }
            rows.for_each(|row| add(row.iter().map(|value| quoted(&shown(value))).collect()));
        }
        Format::Markdown => {
            if is_first {
                text.push_str(&table_row(&columns));
                text.push_str(&table_row(columns.iter().map(|_| "---")));
            }
            rows.for_each(|row| text.push_str(&table_row(row.iter().map(shown))));
        }
    }
    text
}

/// A value as text: a link as its path, a list as its values between commas.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(object) => match object.get("path").and_then(Value::as_str) {
            Some(path) => path.to_owned(),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_lines_whatever_stands_in_them() {
        let answer = json!({ "columns": ["File", "a,b"], "rows": [
            [{ "path": "x.md" }, "say \"hi\",\nplease"],
            [null, [1, true, { "path": "y|z.md" }]],
        ]});
        assert_eq!(
            lines(&answer, Format::Csv, true),
            "File,\"a,b\"\r\nx.md,\"say \"\"hi\"\",\nplease\"\r\n,\"1, true, y|z.md\"\r\n"
        );
        assert!(!lines(&answer, Format::Csv, false).contains("File"));
        assert_eq!(
            lines(&answer, Format::JsonLines, true).lines().next().unwrap(),
            r#"{"File":{"path":"x.md"},"a,b":"say \"hi\",\nplease"}"#
        );
        assert_eq!(
            lines(&answer, Format::Markdown, true),
            "| File | a,b |\n| --- | --- |\n| x.md | say \"hi\",<br>please |\n|  | 1, true, y\\|z.md |\n"
        );
    }
}
