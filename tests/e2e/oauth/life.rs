//! The life of grants against a model: clients, instances and a clock. No token is taken that the model says is dead, after its window.

use std::time::Duration;

use atlas_testkit::{Fault, FaultStore, Op};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::Client;
use crate::support::tokens::{bearer, send};

use super::site::{AUTHORITY, Person, Site, error_of, post, process_over, redeemed, text};

/// An event; its numbers choose among clients, grants and tokens.
#[derive(Clone, Debug)]
enum Step {
    Allow { client: usize },
    Redeem { code: usize, client: usize, instance: usize },
    Refresh { token: usize, client: usize, instance: usize },
    Revoke { token: usize, client: usize },
    Pass { seconds: u64 },
    Call { token: usize, instance: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0_usize..1000;
    prop_oneof![
        3 => (0_usize..2).prop_map(|client| Step::Allow { client }),
        4 => (number.clone(), prop_oneof![5 => Just(9_usize), 1 => 0_usize..2], 0_usize..2).prop_map(|(code, client, instance)| Step::Redeem { code, client, instance }),
        5 => (number.clone(), prop_oneof![5 => Just(9_usize), 1 => 0_usize..2], 0_usize..2).prop_map(|(token, client, instance)| Step::Refresh { token, client, instance }),
        1 => (number.clone(), prop_oneof![3 => Just(9_usize), 1 => 0_usize..2]).prop_map(|(token, client)| Step::Revoke { token, client }),
        3 => prop_oneof![1_u64..50, 200_u64..400, 600_u64..700, 80_000_u64..90_000].prop_map(|seconds| Step::Pass { seconds }),
        4 => (number, 0_usize..2).prop_map(|(token, instance)| Step::Call { token, instance }),
    ]
}

struct Code {
    text: String,
    client: usize,
    grant: usize,
    made: u64,
}

struct Refresh {
    text: String,
    grant: usize,
    /// When it was first used, and the token that was given for it.
    used: Option<(u64, usize)>,
}

struct Access {
    text: String,
    /// The last second at which it may be taken, with the difference of clocks.
    until: u64,
}

#[derive(Clone, Copy)]
struct Grant {
    client: usize,
    ends: u64,
    is_begun: bool,
    is_ended: bool,
}

/// Whether a request for tokens is answered, and by which refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    New,
    Again(usize),
    None,
}

/// How long a request can be made again, in seconds.
const REPEAT: u64 = 30;
/// A day, as the person chooses on the page.
const DAY: u64 = 86_400;
const SKEW: u64 = 30;

#[derive(Default)]
struct Model {
    now: u64,
    codes: Vec<Code>,
    grants: Vec<Grant>,
    refreshes: Vec<Refresh>,
    accesses: Vec<Access>,
}

impl Model {
    /// Whether the code is good for a client, which begins its grant; a replay ends it.
    fn redeem(&mut self, code: usize, client: usize) -> bool {
        let Code { client: of, grant, made, .. } = self.codes[code];
        if of != client || self.now >= made + 60 {
            return false;
        }
        let grant = &mut self.grants[grant];
        let is_first = !grant.is_begun;
        grant.is_begun = true;
        grant.is_ended |= !is_first;
        is_first
    }

    fn refresh(&mut self, token: usize, client: usize) -> Answer {
        let Refresh { grant, used, .. } = self.refreshes[token];
        let next = self.refreshes.len();
        let state = &mut self.grants[grant];
        if state.client != client || state.is_ended || self.now >= state.ends {
            return Answer::None;
        }
        match used {
            None => {
                self.refreshes[token].used = Some((self.now, next));
                Answer::New
            }
            Some((at, next)) if self.now < at + REPEAT && self.refreshes[next].used.is_none() => Answer::Again(next),
            Some(_) => {
                state.is_ended = true;
                Answer::None
            }
        }
    }

    fn given(&mut self, grant: usize, tokens: &Value, answer: Answer) {
        let ends = self.grants[grant].ends.min(self.now + 600);
        assert_eq!(tokens["expires_in"].as_u64().unwrap(), ends - self.now);
        let refresh = text(tokens, "refresh_token").to_owned();
        match answer {
            Answer::Again(token) => assert_eq!(refresh, self.refreshes[token].text),
            _ => self.refreshes.push(Refresh { text: refresh, grant, used: None }),
        }
        self.accesses.push(Access { text: text(tokens, "access_token").to_owned(), until: ends + SKEW });
    }
}

async fn lives(steps: Vec<Step>) {
    clock::stop();
    let site = Site::new().await;
    let other = site.other().await;
    let instances: [&Client; 2] = [&site.client, &other];
    let ids = [
        site.registered().await,
        site.registers(&json!({ "redirect_uris": [super::site::CALLBACK], "client_name": "Other" })).await,
    ];
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let begun = clock::now().as_second();
    let mut model = Model::default();
    for step in steps {
        model.now = u64::try_from(clock::now().as_second() - begun).unwrap();
        match step {
            Step::Allow { client } => {
                // Sessions of the page end before grants.
                if model.now > 11 * 3600 {
                    continue;
                }
                let choice = [("scope", "read:vault"), ("time", "86400")];
                let code = person.allows(&ids[client], &choice).await;
                model.grants.push(Grant { client, ends: model.now + DAY, is_begun: false, is_ended: false });
                model.codes.push(Code { text: code, client, grant: model.grants.len() - 1, made: model.now });
            }
            Step::Redeem { code, client, instance } if !model.codes.is_empty() => {
                let code = code % model.codes.len();
                let client = if client == 9 { model.codes[code].client } else { client };
                let reply = redeemed(instances[instance], &ids[client], &model.codes[code].text).await;
                let expected = model.redeem(code, client);
                assert_eq!(reply.status.is_success(), expected, "{reply:?}");
                if expected {
                    let grant = model.codes[code].grant;
                    model.given(grant, &reply.ok(), Answer::New);
                }
            }
            Step::Refresh { token, client, instance } if !model.refreshes.is_empty() => {
                let token = token % model.refreshes.len();
                let grant = model.refreshes[token].grant;
                let client = if client == 9 { model.grants[grant].client } else { client };
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", ids[client].as_str()),
                    ("refresh_token", &model.refreshes[token].text),
                ];
                let reply = post(instances[instance], "/oauth/token", &fields).await;
                let answer = model.refresh(token, client);
                assert_eq!(reply.status.is_success(), answer != Answer::None, "{reply:?}");
                if answer != Answer::None {
                    model.given(grant, &reply.ok(), answer);
                }
            }
            Step::Revoke { token, client } if !model.refreshes.is_empty() => {
                let token = token % model.refreshes.len();
                let grant = &mut model.grants[model.refreshes[token].grant];
                let client = if client == 9 { grant.client } else { client };
                let fields = [("client_id", ids[client].as_str()), ("token", &model.refreshes[token].text)];
                post(instances[0], "/oauth/revoke", &fields).await.ok();
                grant.is_ended |= grant.client == client;
            }
            Step::Pass { seconds } => clock::pass(Duration::from_secs(seconds)),
            Step::Call { token, instance } if !model.accesses.is_empty() => {
                let Access { text, until } = &model.accesses[token % model.accesses.len()];
                let reply = send(instances[instance], "POST", "/find", &[bearer(text)], &json!({ "term": "x" })).await;
                assert_eq!(
                    reply.status.as_u16(),
                    if model.now < *until { 200 } else { 401 },
                    "at {} until {until}",
                    model.now
                );
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn a_token_lives_as_long_as_the_model_says(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(lives(steps));
    }
}

#[tokio::test]
async fn a_request_that_the_store_fails_can_be_made_again() {
    let site = Site::new().await;
    let id = site.registered().await;
    let faults = FaultStore::new(site.deployment.objects.clone());
    let failing = process_over(faults.clone(), &AUTHORITY, &json!({}), |app| app).await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let mut tokens = Value::Null;
    for place in ["oauth/refresh/", "oauth/grants/"] {
        let code = person.allows(&id, &[("scope", "read:vault")]).await;
        faults.always(Op::Create, place, Fault::Error);
        assert_eq!(error_of(&redeemed(&failing, &id, &code).await), "temporarily_unavailable", "{place}");
        faults.heal();
        tokens = redeemed(&failing, &id, &code).await.ok();
    }
    for place in ["oauth/refresh/", ".used"] {
        let refresh = text(&tokens, "refresh_token").to_owned();
        let fields = [("grant_type", "refresh_token"), ("client_id", id.as_str()), ("refresh_token", &refresh)];
        faults.always(Op::Create, place, Fault::Error);
        assert_eq!(error_of(&post(&failing, "/oauth/token", &fields).await), "temporarily_unavailable", "{place}");
        faults.heal();
        clock::pass(Duration::from_secs(120));
        tokens = post(&failing, "/oauth/token", &fields).await.ok();
    }
}
