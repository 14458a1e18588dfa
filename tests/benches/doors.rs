//! The cost of calls through MCP: the same calls as over REST, in one process and without a network.

use std::time::{Duration, Instant};

use atlas_ops::Limits;
use atlas_web::App;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::draw::Drawn;
use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::{CACHE, World};

/// Greatest additional time of a warm call.
const MOST: Duration = Duration::from_millis(1);
/// Repetitions of each call through each door.
const REPEATS: usize = 5;

/// `find` through both doors.
pub(crate) fn measure(table: &mut Table, folder: &Folder, world: &World, drawn: &Drawn) {
    let app = App::over(world.store().clone(), "main".parse().unwrap(), Limits::default(), CACHE).unwrap();
    let router = function_find::routes().merge(function_mcp::routes()).into_router(app);
    let find = |arguments: &Value| request("/find", arguments);
    let tool = |arguments: &Value| {
        let params = json!({ "name": "find", "arguments": arguments });
        request("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    };
    let time = |request| {
        let begun = Instant::now();
        let answer = world.runtime.block_on(answer(&router, request));
        (begun.elapsed(), answer)
    };
    for calls in drawn.calls.iter().filter(|calls| calls.operation.info.name == "find") {
        let mut times = [Vec::new(), Vec::new()];
        for arguments in &calls.arguments {
            let (_, found) = time(find(arguments));
            assert_eq!(time(tool(arguments)).1["result"]["structuredContent"], found, "{arguments}");
            // Alternating, so that both run under equal conditions.
            for _ in 0..REPEATS {
                times[0].push(time(find(arguments)).0);
                times[1].push(time(tool(arguments)).0);
            }
        }
        let [rest, mcp] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        let more = mcp.saturating_sub(rest);
        let result = format!("{} more than {}", table::duration(more), table::duration(rest));
        let target = format!("{} more", table::duration(MOST));
        table.row(&format!("warm {} through MCP", calls.what), folder.name, &result, &target, Some(more <= MOST));
    }
}

fn request(path: &str, body: &Value) -> Request<Body> {
    let request = Request::post(path).header("host", "localhost").header("content-type", "application/json");
    let request =
        request.header("accept", "application/json, text/event-stream").header("mcp-protocol-version", "2025-11-25");
    request.body(Body::from(body.to_string())).unwrap()
}

async fn answer(router: &Router, request: Request<Body>) -> Value {
    let response = router.clone().oneshot(request).await.unwrap();
    assert!(response.status().is_success(), "{}", response.status());
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}
