//! `knowledge_challenge`, against a service that stands in for a language model.

use std::time::Duration;

use atlas_testkit::stand_in::{Asked, Reply};
use atlas_testkit::{StandIn, VaultBuilder};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{SECRET, bearer, token_of};
use crate::support::tools::Tools;

const KEY: &str = "a-key-of-a-gateway";
const PROPOSAL: &str = "Move the tide gauges to the radio network";

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note(
            "log/radio.md",
            "# Radio\nWe took the tide gauges off the radio network in March, since it lost readings.\n",
        )
        .note("private/pay.md", "# Pay\nThe tide gauges of the radio network cost the harbour master his bonus.\n")
        .note("other.md", "Nothing to do with it.\n")
}

/// A deployment that asks the model at `address`, with an access list that hides a folder from some.
async fn asking(address: &str, more: &[(&str, &str)]) -> Client {
    let rules = json!([{ "glob": "private/**", "scopes": ["read:private"] }]);
    let gateway = json!({ "baseUrl": format!("{address}/v1"), "model": "a-model", "timeoutMs": 2000 });
    let config = json!({ "gateway": gateway, "acl": { "rules": rules } }).to_string();
    let variables = [&[("ATLAS_CONFIG", config.as_str()), ("ATLAS_GATEWAY_TOKEN", KEY)], more].concat();
    Deployment::of_vault(&vault()).await.set_up(&variables).await
}

fn verdict() -> Value {
    let item = json!({
        "evidence_paths": ["log/radio.md", "private/none.md"],
        "why_it_matters": "It lost readings in March.",
        "severity": "high",
    });
    let category = json!({ "kind": "REVERSAL", "items": [item] });
    json!({ "verdict": "reconsider", "summary": "It was undone in March.", "categories": [category] })
}

fn completion(content: &str) -> Value {
    json!({ "model": "a-model-1", "choices": [{ "message": { "role": "assistant", "content": content } }] })
}

async fn refused(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Value {
    let model = StandIn::new(reply).await;
    let client = asking(&model.address(), &[]).await;
    Agent::new(&client, ERAS[0]).failure("knowledge_challenge", json!({ "proposal": PROPOSAL })).await
}

#[tokio::test]
async fn a_proposal_is_held_against_the_notes() {
    let model = StandIn::new(|_| Reply::json(&completion(&verdict().to_string()))).await;
    let client = asking(&model.address(), &[]).await;
    let tools = Tools::of(&client);
    let told = tools.good("knowledge_challenge", json!({ "proposal": PROPOSAL })).await;
    assert_eq!((&told["available"], &told["model"]), (&json!(true), &json!("a-model-1")));
    assert_eq!(told["output"]["verdict"], "reconsider");
    let item = &told["output"]["categories"][0]["items"][0];
    assert_eq!(item["evidence_paths"], json!(["log/radio.md"]), "a note that was not shown is no evidence");
    let asked = model.asked();
    let [asked] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(
        (asked.target.as_str(), asked.header("authorization")),
        ("/v1/chat/completions", "Bearer a-key-of-a-gateway")
    );
    let body = asked.json();
    assert_eq!(body["model"], "a-model");
    let shown = body["messages"][1]["content"].as_str().unwrap();
    assert!(shown.contains(PROPOSAL) && shown.contains("log/radio.md") && shown.contains("lost readings"), "{shown}");
    tools.bad("knowledge_challenge", json!({ "proposal": "short" }), "invalid_input").await;
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn a_model_is_shown_what_the_caller_may_read_and_no_more_than_is_useful() {
    let model = StandIn::new(|_| Reply::json(&completion(&verdict().to_string()))).await;
    let jwt = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)];
    let client = asking(&model.address(), &jwt).await;
    let by = |scopes: &str| Agent::new(&client, ERAS[0]).with(bearer(&token_of("agent", scopes, None)));
    let of = async |scopes: &str| {
        by(scopes).checked("knowledge_challenge", json!({ "proposal": PROPOSAL })).await;
        String::from_utf8(model.asked().pop().unwrap().body).unwrap()
    };
    let (some, all) = (of("read:vault").await, of("read:vault read:private").await);
    assert!(!some.contains("bonus") && !some.contains("private/"), "{some}");
    assert!(all.contains("bonus"), "{all}");
    assert!(all.len() < 60_000);
    assert_eq!(
        by("write:vault").failure("knowledge_challenge", json!({ "proposal": PROPOSAL })).await["code"],
        "scope_missing"
    );
}

#[tokio::test]
async fn without_a_model_none_is_available_and_without_notes_none_is_asked() {
    let model = StandIn::new(|_| Reply::Status(500, String::new())).await;
    let without = Deployment::of_vault(&vault()).await.client();
    let told = Tools::of(&without).good("knowledge_challenge", json!({ "proposal": PROPOSAL })).await;
    assert_eq!((&told["available"], told.get("output")), (&json!(false), None));
    let client = asking(&model.address(), &[]).await;
    let told =
        Tools::of(&client).good("knowledge_challenge", json!({ "proposal": "zymurgy quixotry xylophones" })).await;
    assert_eq!((&told["available"], &told["evidence_count"], &told["output"]), (&json!(true), &json!(0), &Value::Null));
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn a_model_that_answers_something_else_is_no_answer() {
    let good = verdict().to_string();
    let cut = good[..good.len() - 2].to_owned();
    for reply in [
        Reply::Status(200, "no JSON".to_owned()),
        Reply::Status(200, "[]".to_owned()),
        Reply::json(&json!({ "choices": [] })),
        Reply::json(&json!({ "choices": [{ "message": { "content": null } }] })),
        Reply::json(&completion("The proposal is fine.")),
        Reply::json(&completion(&cut)),
        Reply::Status(429, "{}".to_owned()),
        Reply::Status(500, completion(&good).to_string()),
        Reply::Status(401, "{}".to_owned()),
        Reply::Status(200, format!("{}{}", " ".repeat(2 << 20), completion(&good))),
        Reply::Endless("HTTP/1.1 200 So\r\n\r\n".to_owned()),
        Reply::Raw(b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec()),
        Reply::Silence(Duration::from_secs(600)),
    ] {
        let sent = reply.clone();
        let error = refused(move |_| sent.clone()).await;
        assert_eq!(error["code"], "plugin_unreachable", "{error} {reply:.200?}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
    // In a fence, it is one.
    let model = StandIn::new(move |_| Reply::json(&completion(&format!("```json\n{good}\n```")))).await;
    let client = asking(&model.address(), &[]).await;
    Tools::of(&client).good("knowledge_challenge", json!({ "proposal": PROPOSAL })).await;
}
