//! `eval_dataview_field`: the value of an expression of Dataview for a note.

use atlas_access::Access;
use atlas_expressions::plan::expr_reads_lists;
use atlas_expressions::{Dialect, Pages as _, Value};
use atlas_ops::arguments::{ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::pages::{IndexPages, refused};
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{answer_room, check_no_program, evaluator, json};

/// Evaluates a Dataview expression for a note, without the app.
pub struct EvalDataviewField;

/// A note and an expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note, which is both the row and `this`.
    path: ReadPath,
    /// The expression.
    expression: Text<10_000>,
}

/// The value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The expression.
    expression: String,
    /// Its value: links are objects with a `path`, dates are texts.
    value: serde_json::Value,
    /// The type of the value: `null`, `boolean`, `number`, `string`, `date`, `duration`, `link`, `array`, `object`, `widget` or `function`.
    r#type: &'static str,
}

impl Operation for EvalDataviewField {
    const INFO: Info = Info {
        name: "eval_dataview_field",
        title: "Evaluate a Dataview expression",
        description: "Evaluates a Dataview expression for a note, from the index: its value and type. Example: {\"path\": \"Books/Tides.md\", \"expression\": \"length(file.inlinks)\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = VaultPath::from(arguments.path);
        let text = arguments.expression.as_str();
        check_no_program(text)?;
        let expr = Dialect::Dataview.parse(text).map_err(|error| refused(&error, Dialect::Dataview, text))?;
        let value = |view: View| {
            let (path, expr) = (path.as_str(), &expr);
            async move {
                let with_lists = expr_reads_lists(expr);
                let pages = IndexPages::fetch_for(context, view, Dialect::Dataview, with_lists).await?;
                if !pages.is_file(path) {
                    pages.check()?;
                    return Err(notes::missing(path));
                }
                let evaluator = evaluator(context, &pages, Dialect::Dataview, Some(path));
                let value = evaluator.evaluate(expr, &Value::page(path));
                context.work.check()?;
                let value = value.map_err(|error| refused(&error, Dialect::Dataview, text))?;
                pages.check()?;
                Ok(Output {
                    path: path.to_owned(),
                    expression: text.to_owned(),
                    value: json(context, &value, &mut answer_room(context))?,
                    r#type: value.type_name(),
                })
            }
        };
        context.read(value).await
    }
}
