//! Sends a person to the page where a call waits for approval: elicitation by URL. The client only opens the address; a person approves on the
//! page.
//!
//! MCP 2026-07-28: the result `input_required`. Clients of before say what they can do in a handshake, of which nothing is kept.

use std::collections::BTreeMap;

use atlas_ops::Error;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ElicitRequestParams, InputRequest, InputRequiredResult, ProtocolVersion,
    Request,
};

/// The name of the request in `inputRequests` and `inputResponses`.
const APPROVAL: &str = "approval";

/// The client that called.
pub(crate) struct Client {
    pub(crate) version: Option<ProtocolVersion>,
    pub(crate) capabilities: Option<ClientCapabilities>,
    /// Whether it has been asked for this call and answered.
    pub(crate) has_answered: bool,
}

impl Client {
    fn opens_addresses(&self) -> bool {
        let elicitation = self.capabilities.as_ref().and_then(|capabilities| capabilities.elicitation.as_ref());
        self.version.as_ref().is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28)
            && elicitation.is_some_and(|elicitation| elicitation.url.is_some())
    }
}

/// The answer to a call that waits for approval, for a client that can open the page; [`None`] for other errors and other clients, and for a client
/// that has been asked already: the agent gets the error as a result then.
pub(crate) fn of(error: &Error, client: &Client) -> Option<CallToolResponse> {
    let url = error.details.get("approval")?.get("url")?.as_str()?;
    if !client.opens_addresses() || client.has_answered {
        return None;
    }
    let params = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: "A call waits for your approval. The page shows what it would change.".to_owned(),
        url: url.to_owned(),
        elicitation_id: String::new(),
    };
    let requests = BTreeMap::from([(APPROVAL.to_owned(), InputRequest::Elicitation(Request::new(params)))]);
    Some(InputRequiredResult::from_input_requests(requests).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_ops::error::{Code, Reason};
    use serde_json::{Value, json};

    fn waiting() -> Error {
        let approval = json!({ "id": "5f", "url": "http://127.0.0.1:3737/ui/approvals/5f" });
        Error::new(Code::Forbidden, Reason::ElicitRequired, "a person has to approve this call")
            .with("approval", approval)
    }

    fn client(version: ProtocolVersion, capabilities: Value) -> Client {
        let capabilities = serde_json::from_value(capabilities).unwrap();
        Client { version: Some(version), capabilities: Some(capabilities), has_answered: false }
    }

    fn opening(version: ProtocolVersion) -> Client {
        client(version, json!({ "elicitation": { "url": {} } }))
    }

    #[test]
    fn a_client_of_2026_is_asked_for_input_once() {
        let mut client = opening(ProtocolVersion::V_2026_07_28);
        let Some(CallToolResponse::InputRequired(asked)) = of(&waiting(), &client) else { panic!() };
        let asked = serde_json::to_value(asked).unwrap();
        assert_eq!(asked["resultType"], "input_required");
        let request = &asked["inputRequests"]["approval"];
        assert_eq!((&request["method"], &request["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
        assert_eq!(request["params"]["url"], "http://127.0.0.1:3737/ui/approvals/5f");
        client.has_answered = true;
        assert!(of(&waiting(), &client).is_none(), "an answer without an approval is told to the agent");
    }

    #[test]
    fn others_get_the_error_as_a_result() {
        for capabilities in [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })] {
            assert!(of(&waiting(), &client(ProtocolVersion::V_2025_11_25, capabilities)).is_none());
        }
        assert!(of(&waiting(), &opening(ProtocolVersion::V_2025_11_25)).is_none());
        let client = opening(ProtocolVersion::V_2026_07_28);
        let no_page = Error::new(Code::Forbidden, Reason::ElicitRequired, "…").with("approval", json!({ "id": "5f" }));
        assert!(of(&no_page, &client).is_none());
        assert!(of(&Error::bad_request(Reason::InvalidInput, "…"), &client).is_none());
    }
}
