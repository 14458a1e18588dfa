//! Models against services on loopback that answer as services can.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose};
use atlas_outbound::{Key, Service, Trust};
use atlas_testkit::StandIn;
use atlas_testkit::stand_in::{Asked, Reply};
use serde_json::{Value, json};

use crate::{Protocol, QueryModel, Remote, Shape, Spending, SyncModel};

const PATIENCE: Duration = Duration::from_secs(20);

fn remote(stand_in: &StandIn, protocol: Protocol) -> Remote {
    let shape = Shape {
        model: "nomic-embed-text".to_owned(),
        dimensions: 2,
        asks_dimensions: false,
        max_input_tokens: 2_000,
        batch: 4,
    };
    let bytes = shape.answer_bytes();
    let service = Service::new(&stand_in.address(), Key::new("a-key"), Trust::Machine, PATIENCE, bytes).unwrap();
    Remote::new(service, protocol, shape)
}

fn syncing(stand_in: &StandIn, max_tokens: u64) -> SyncModel {
    SyncModel::new(remote(stand_in, Protocol::OpenAi), Spending { max_tokens, max_time: PATIENCE })
}

/// The answer of a sound service, which counted so many tokens.
fn sound(asked: &Asked, tokens: u64) -> Reply {
    let asked = asked.json();
    let texts = asked["input"].as_array().unwrap();
    let data: Vec<Value> =
        texts.iter().enumerate().map(|(at, _)| json!({ "index": at, "embedding": [1, 0] })).collect();
    Reply::json(&json!({ "data": data, "usage": { "total_tokens": tokens } }))
}

fn head(status: u16, headers: &str) -> Reply {
    Reply::Raw(format!("HTTP/1.1 {status} So\r\n{headers}content-length: 0\r\n\r\n").into_bytes())
}

#[tokio::test]
async fn services_are_asked_in_their_own_way() {
    let stand_in = StandIn::new(|asked| match asked.target.as_str() {
        "/api/embed" => Reply::json(&json!({ "embeddings": [[0, 2], [1, 0]] })),
        _ => sound(asked, 3),
    })
    .await;
    for (protocol, target) in [(Protocol::OpenAi, "/embeddings"), (Protocol::Ollama, "/api/embed")] {
        let answer = remote(&stand_in, protocol).ask(&["a", "b"], Purpose::Passage, PATIENCE).await.unwrap();
        assert_eq!(answer.vectors.len(), 2);
        let asked = stand_in.asked().pop().unwrap();
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", target));
        assert_eq!(asked.header("authorization"), "Bearer a-key");
        assert_eq!(asked.json()["input"], json!(["search_document: a", "search_document: b"]));
        assert_eq!(asked.json()["model"], "nomic-embed-text");
    }
}

#[tokio::test]
async fn a_busy_service_is_left_alone_as_long_as_it_asks() {
    let times = AtomicUsize::new(0);
    let stand_in = StandIn::new(move |asked| match times.fetch_add(1, Ordering::Relaxed) {
        0 => head(429, "retry-after: 1\r\n"),
        1 => head(503, "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n"),
        _ => sound(asked, 3),
    })
    .await;
    let began = Instant::now();
    assert_eq!(syncing(&stand_in, 10_000).embed(&["a"], Purpose::Passage).await.unwrap().len(), 1);
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(stand_in.asked().len(), 3);
}

#[tokio::test]
async fn a_service_that_asks_for_too_long_is_left_to_the_next_sync() {
    let stand_in = StandIn::new(|_| head(429, "retry-after: 3600\r\n")).await;
    let error = syncing(&stand_in, 10_000).embed(&["a"], Purpose::Passage).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Unavailable(why) if why.contains("3600 seconds")), "{error}");
    assert_eq!(stand_in.asked().len(), 1);
}

#[tokio::test]
async fn a_service_that_stays_busy_is_asked_a_few_times() {
    let stand_in = StandIn::new(|_| head(500, "retry-after: 0\r\n")).await;
    let error = syncing(&stand_in, 10_000).embed(&["a"], Purpose::Passage).await.unwrap_err();
    assert!(matches!(error, EmbedError::Failed(_)), "{error}");
    assert_eq!(stand_in.asked().len(), 5);
}

#[tokio::test]
async fn while_a_text_is_looked_for_at_which_it_fails_it_is_asked_once() {
    let stand_in = StandIn::new(|asked| match asked.json()["input"].to_string().contains("bad") {
        true => head(500, "retry-after: 0\r\n"),
        false => sound(asked, 3),
    })
    .await;
    let model = syncing(&stand_in, 10_000);
    for (texts, times) in [
        (&["a", "b", "bad", "d"][..], 5),
        (&["a", "b"], 1),
        (&["bad", "d"], 1),
        (&["bad"], 1),
        (&["e", "f", "g", "h"], 1),
        (&["bad"], 5),
    ] {
        let before = stand_in.asked().len();
        let answer = model.embed(texts, Purpose::Passage).await;
        assert_eq!(answer.is_err(), texts.contains(&"bad"), "{texts:?}");
        assert_eq!(stand_in.asked().len() - before, times, "{texts:?}");
    }
}

#[tokio::test]
async fn a_service_that_hangs_is_given_up() {
    let stand_in = StandIn::new(|_| Reply::Silence(PATIENCE)).await;
    let spending = Spending { max_tokens: 1_000_000, max_time: Duration::from_millis(50) };
    let model = SyncModel::new(remote(&stand_in, Protocol::OpenAi), spending);
    let mut error = model.embed(&["a"], Purpose::Passage).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Failed(why) if why.contains("2 times")), "{error}");
    for _ in 0..20 {
        error = model.embed(&["a"], Purpose::Passage).await.unwrap_err();
        if matches!(error, EmbedError::Unavailable(_)) {
            break;
        }
    }
    assert!(matches!(&error, EmbedError::Unavailable(why) if why.contains("10 times in all")), "{error}");
    assert_eq!(stand_in.asked().len(), 10);
}

#[tokio::test]
async fn a_text_without_a_vector_may_be_the_only_one() {
    for embedding in ["[NaN, 1]", "[1e39, 1]", "[null, 1]", "[0, 0]"] {
        let body = format!(r#"{{"data": [{{"index": 0, "embedding": {embedding}}}]}}"#);
        let stand_in = StandIn::new(move |_| Reply::Status(200, body.clone())).await;
        let error = syncing(&stand_in, 10_000).embed(&["a"], Purpose::Passage).await.unwrap_err();
        assert!(matches!(error, EmbedError::Failed(_)), "{embedding}: {error}");
        assert_eq!(stand_in.asked().len(), 1, "the answer would be no other one");
    }
}

#[tokio::test]
async fn the_model_before_is_asked_in_its_own_way() {
    // One model gives two dimensions, however it is asked; the other gives three, or two if it is asked to.
    let stand_in = StandIn::new(|asked| {
        let asked = asked.json();
        let is_short = asked["dimensions"] == json!(2);
        let numbers = match asked["model"].as_str().unwrap() {
            "fixed" if is_short => return Reply::Status(400, String::new()),
            "fixed" => json!([1, 0]),
            _ if is_short => json!([1, 0]),
            _ => json!([1, 0, 0]),
        };
        Reply::json(&json!({ "data": [{ "index": 0, "embedding": numbers }] }))
    })
    .await;
    for (asks_dimensions, own) in [(true, "flexible"), (false, "fixed")] {
        let remote = remote(&stand_in, Protocol::OpenAi).with_model(own, 2, asks_dimensions);
        let model = QueryModel::new(remote, PATIENCE);
        for asked in ["fixed", "flexible"] {
            let vector = model.vector("openai", asked, 2, "why").await.unwrap();
            assert_eq!(vector.values(), [1.0, 0.0], "{asked} where {own} is configured");
        }
    }
}

#[tokio::test]
async fn answers_of_no_use_are_refused_at_once() {
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let one = |embedding: &str| format!(r#"{{"data": [{{"index": 0, "embedding": {embedding}}}]}}"#);
    for (reply, says) in [
        (Reply::Status(200, one("[1]")), "1 dimensions instead of 2"),
        (Reply::Status(200, r#"{"data": []}"#.to_owned()), "0 vectors for 1 texts"),
        (Reply::Status(200, "x".repeat(600_000)), "more than"),
        (Reply::Endless("HTTP/1.1 200 So\r\n\r\n".to_owned()), "more than"),
        (raw("HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"), "redirect"),
        (Reply::Status(401, String::new()), "key"),
        (Reply::Status(404, String::new()), "nomic-embed-text"),
    ] {
        let replied = reply.clone();
        let stand_in = StandIn::new(move |_| replied.clone()).await;
        let error = syncing(&stand_in, 10_000).embed(&["a"], Purpose::Passage).await.unwrap_err();
        assert!(matches!(&error, EmbedError::Refused(why) if why.contains(says)), "{reply:?}: {error}");
        assert_eq!(stand_in.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_limit_takes_what_fits_and_is_no_more_than_that() {
    let stand_in = StandIn::new(|asked| sound(asked, 150)).await;
    let model = syncing(&stand_in, 600);
    let text = "x".repeat(68);
    let texts = [text.as_str(); 6];
    let mut taken = Vec::new();
    let error = loop {
        match model.takes(&texts) {
            Ok(count) => taken.push(model.embed(&texts[..count], Purpose::Passage).await.unwrap().len()),
            Err(error) => break error,
        }
    };
    // Of 600 tokens, three texts may take all; the service counts 150 of each request.
    assert_eq!(taken, [3, 2, 1], "{error}");
    assert!(matches!(&error, EmbedError::Limit(why) if why.contains("450 of the 600 tokens")), "{error}");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_shortened() {
    let stand_in = StandIn::new(|asked| {
        let asked_json = asked.json();
        let is_long = asked_json["input"][0].as_str().unwrap().len() > 200;
        if is_long { Reply::Status(400, String::new()) } else { sound(asked, 9) }
    })
    .await;
    let model = syncing(&stand_in, 10_000);
    let long = "tidé ".repeat(200);
    assert_eq!(model.embed(&[long.as_str()], Purpose::Passage).await.unwrap().len(), 1);
    let error = model.embed(&[long.as_str(), "a"], Purpose::Passage).await.unwrap_err();
    assert!(matches!(error, EmbedError::TooLong(_)), "who asks for several has to ask for fewer");
    let endless = "x".repeat(4_000);
    assert!(matches!(model.embed(&[endless.as_str()], Purpose::Passage).await, Err(EmbedError::TooLong(_))));
}

#[tokio::test]
async fn a_question_has_a_deadline_and_is_asked_once() {
    let times = Arc::new(AtomicUsize::new(0));
    let counted = times.clone();
    let stand_in = StandIn::new(move |asked| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Silence(PATIENCE),
        1 => Reply::Dripping(b"HTTP/1.1 200 So\r\ncontent-length: 99\r\n\r\n".to_vec(), Duration::from_millis(20)),
        _ => sound(asked, 3),
    })
    .await;
    let model = QueryModel::new(remote(&stand_in, Protocol::OpenAi), Duration::from_millis(300));
    for _ in 0..2 {
        let began = Instant::now();
        let error = model.vector("openai", "m", 2, "why").await.unwrap_err();
        assert!(matches!(error, EmbedError::Unavailable(_)), "{error}");
        assert!(began.elapsed() < PATIENCE / 4, "{:?}", began.elapsed());
    }
    for _ in 0..3 {
        assert_eq!(model.vector("openai", "m", 2, "why").await.unwrap().values(), [1.0, 0.0]);
    }
    assert_eq!(times.load(Ordering::Relaxed), 3);
    let asked = stand_in.asked().pop().unwrap().json();
    assert_eq!((&asked["model"], &asked["input"]), (&json!("m"), &json!(["why"])));
    assert!(matches!(model.vector("ollama", "m", 2, "why").await, Err(EmbedError::Refused(_))));
}
