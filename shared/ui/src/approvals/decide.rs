//! The forms by which a person decides on calls.

use atlas_ops::Error;
use atlas_tools::access::approve::Approve;
use atlas_tools::access::refuse::Refuse;
use atlas_tools::entry;
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{APPROVED, MOST, REFUSED};
use crate::answer::given;
use crate::frame::Section;
use crate::visit::Form;
use crate::{links, response};

/// Approves the calls of a form, each on its own: one that cannot be approved does not keep the others from it.
pub(crate) async fn approve(form: Form) -> Response {
    let mut done = Vec::new();
    for id in form.all("id").take(MOST) {
        done.push((id, form.visit.call(entry::<Approve>(), json!({ "id": id })).await.map(drop)));
    }
    match &done[..] {
        [(_, Err(error))] => form.visit.failed(error),
        done if done.iter().all(|(_, result)| result.is_ok()) => {
            form.visit.told(response::see(&links::page("approvals", &[("said", APPROVED)])))
        }
        done => form.visit.page(Section::Approvals, "Approved in part", approved(done)),
    }
}

/// The result for each of several calls.
fn approved(done: &[(&str, Result<(), Error>)]) -> Markup {
    let count = done.iter().filter(|(_, result)| result.is_ok()).count();
    html! {
        h1 { (count) " of " (done.len()) " approved" }
        p.lead role="status" { "The approved calls pass when the agent makes them again. The others are as they were." }
        ul.rows {
            @for (id, result) in done {
                li {
                    @match result {
                        Ok(()) => { span.status.waits { "Approved" } " " a href=(links::approval(id)) { "Call " (id) } },
                        Err(error) => {
                            span.status.gone { "Not" } " " a href=(links::approval(id)) { "Call " (id) }
                            " " span.facts { (visible(&error.message)) }
                        }
                    }
                }
            }
        }
        p { a href="/ui/approvals" { "All calls" } }
    }
}

/// Refuses the calls of a form.
pub(crate) async fn refuse(form: Form) -> Response {
    let mut failed = None;
    for id in form.all("id").take(MOST) {
        let call = given([("id", Some(id.into())), ("reason", form.given("reason").map(Value::from))]);
        failed = form.visit.call(entry::<Refuse>(), call).await.err().or(failed);
    }
    match failed {
        None => form.visit.told(response::see(&links::page("approvals", &[("said", REFUSED)]))),
        Some(error) => form.visit.failed(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_ops::{Code, Reason};

    #[test]
    fn each_of_several_calls_is_told_of() {
        let decided = Error::new(Code::Conflict, Reason::ApprovalDecided, "ada refused this call");
        let shown = approved(&[("0a", Ok(())), ("0b", Err(decided)), ("0c", Ok(()))]).into_string();
        assert!(shown.contains("<h1>2 of 3 approved</h1>") && shown.contains("ada refused this call"), "{shown}");
        assert_eq!(shown.matches(">Approved</span>").count(), 2, "{shown}");
    }
}
