//! Sends a person to the page where a call waits for approval: elicitation by URL. The client only opens the address; a person approves on the
//! page.
//!
//! MCP 2025-11-25: the error `URLElicitationRequiredError`. MCP 2026-07-28: the result `input_required`.

use std::collections::BTreeMap;

use atlas_ops::Error;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ElicitRequestParams, ErrorCode, ErrorData, InputRequest, InputRequiredResult,
    ProtocolVersion, Request,
};
use serde_json::json;

/// The code of `URLElicitationRequiredError`.
const URL_REQUIRED: ErrorCode = ErrorCode(-32042);

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
        elicitation.is_some_and(|elicitation| elicitation.url.is_some())
    }
}

/// The answer to a call that waits for approval, for a client that can open the page; [`None`] for other errors and other clients, and for a client
/// that has been asked already: the agent gets the error as a result then.
pub(crate) fn of(error: &Error, client: &Client) -> Option<Result<CallToolResponse, ErrorData>> {
    let approval = error.details.get("approval")?;
    let (id, url) = (approval.get("id")?.as_str()?, approval.get("url")?.as_str()?);
    if !client.opens_addresses() || client.has_answered {
        return None;
    }
    let message = "A call waits for your approval. The page shows what it would change.";
    Some(match &client.version {
        Some(version) if *version >= ProtocolVersion::V_2026_07_28 => {
            let params = ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message: message.to_owned(),
                url: url.to_owned(),
                elicitation_id: String::new(),
            };
            let requests = BTreeMap::from([(APPROVAL.to_owned(), InputRequest::Elicitation(Request::new(params)))]);
            Ok(InputRequiredResult::from_input_requests(requests).into())
        }
        _ => {
            let elicitation = json!({ "mode": "url", "elicitationId": id, "url": url, "message": message });
            let data = json!({ "elicitations": [elicitation] });
            Err(ErrorData::new(URL_REQUIRED, error.message.clone(), Some(data)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_ops::error::{Code, Reason};
    use serde_json::Value;

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
    fn a_client_of_2025_gets_the_address_with_the_error() {
        let error = of(&waiting(), &opening(ProtocolVersion::V_2025_11_25)).unwrap().unwrap_err();
        assert_eq!(error.code, ErrorCode(-32042));
        let elicitation = &error.data.unwrap()["elicitations"][0];
        assert_eq!(elicitation["url"], "http://127.0.0.1:3737/ui/approvals/5f");
        assert_eq!((&elicitation["mode"], &elicitation["elicitationId"]), (&json!("url"), &json!("5f")));
    }

    #[test]
    fn a_client_of_2026_is_asked_for_input_once() {
        let mut client = opening(ProtocolVersion::V_2026_07_28);
        let Ok(CallToolResponse::InputRequired(asked)) = of(&waiting(), &client).unwrap() else { panic!() };
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
        let client = opening(ProtocolVersion::V_2026_07_28);
        let no_page = Error::new(Code::Forbidden, Reason::ElicitRequired, "…").with("approval", json!({ "id": "5f" }));
        assert!(of(&no_page, &client).is_none());
        assert!(of(&Error::bad_request(Reason::InvalidInput, "…"), &client).is_none());
    }
}
