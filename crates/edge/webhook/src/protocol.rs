//! AdmissionReview v1 of `admission.k8s.io`, as far as it is read and answered.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const API: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

/// The request of a review. Its objects are decoded later, when there is room for a review; `oldObject` never is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request<'a> {
    pub(crate) uid: String,
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) sub_resource: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    #[serde(default)]
    pub(crate) operation: String,
    #[serde(borrow, default)]
    pub(crate) object: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
}

/// The kinds that are reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reviewed {
    Ingress,
    ConfigMap,
}

/// A request that is no review, with the status that says so.
pub(crate) type Unreadable = (StatusCode, String);

impl<'a> Request<'a> {
    /// Reads the body of a request.
    pub(crate) fn read(body: &'a [u8]) -> Result<(Self, Reviewed), Unreadable> {
        let bad = |why: String| (StatusCode::BAD_REQUEST, why);
        let incoming: Incoming<'a> =
            serde_json::from_slice(body).map_err(|error| bad(format!("the body is no {KIND} of {API}: {error}")))?;
        if incoming.api_version != API || incoming.kind != KIND {
            return Err(bad(format!("{:?} of {:?}: expected {KIND} of {API}", incoming.kind, incoming.api_version)));
        }
        let request = incoming.request.ok_or_else(|| bad("the review has no request".to_owned()))?;
        let Kind { group, version, kind } = &request.kind;
        let reviewed = match (group.as_str(), version.as_str(), kind.as_str()) {
            ("networking.k8s.io", "v1", "Ingress") => Reviewed::Ingress,
            ("", "v1", "ConfigMap") => Reviewed::ConfigMap,
            // The predecessor's answer; it is the registration that is wrong then.
            _ => {
                let why = format!("{kind:?} of {group:?} {version:?}: expected Ingress of networking.k8s.io v1, or ConfigMap of v1");
                return Err((StatusCode::INTERNAL_SERVER_ERROR, why));
            }
        };
        Ok((request, reviewed))
    }
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The reason of a denial.
    pub(crate) denied: Option<String>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    reason: &'static str,
    code: u16,
    message: &'a str,
}

impl Answer {
    /// The body of the response.
    pub(crate) fn body(&self, uid: &str) -> Vec<u8> {
        let status = self.denied.as_deref().map(|message| Status { status: "Failure", reason: "BadRequest", code: 400, message });
        let response = Response { uid, allowed: status.is_none(), status, warnings: &self.warnings };
        serde_json::to_vec(&Outgoing { api_version: API, kind: KIND, response }).expect("texts and numbers are always JSON")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn review(kind: Value) -> Vec<u8> {
        let request = json!({"uid": "u", "kind": kind, "operation": "CREATE", "object": {"a": [1]}, "oldObject": null, "dryRun": true});
        serde_json::to_vec(&json!({"apiVersion": API, "kind": KIND, "request": request})).unwrap()
    }

    #[test]
    fn a_review_is_read_and_its_object_is_left_for_later() {
        let body = review(json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}));
        let (request, reviewed) = Request::read(&body).unwrap();
        assert_eq!((reviewed, &*request.uid, request.object.map(RawValue::get)), (Reviewed::Ingress, "u", Some("{\"a\":[1]}")));
        let body = review(json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
        assert_eq!(Request::read(&body).unwrap().1, Reviewed::ConfigMap);
    }

    #[test]
    fn other_versions_other_kinds_and_garbage_are_refused() {
        let status = |body: &[u8]| Request::read(body).unwrap_err().0;
        for body in
            [&b""[..], b"{", b"null", b"[]", b"\xff\xfe", b"{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\"}"]
        {
            assert_eq!(status(body), StatusCode::BAD_REQUEST, "{body:?}");
        }
        assert_eq!(status(br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#), StatusCode::BAD_REQUEST);
        for kind in
            [json!({"group": "extensions", "version": "v1beta1", "kind": "Ingress"}), json!({"group": "", "version": "v1", "kind": "Pod"})]
        {
            assert_eq!(status(&review(kind)), StatusCode::INTERNAL_SERVER_ERROR);
        }
        // Deep nesting costs no stack.
        let deep = "[".repeat(100_000);
        assert_eq!(status(deep.as_bytes()), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn a_denial_says_what_the_predecessor_says() {
        let answer = Answer { denied: Some("no".into()), warnings: vec!["w".into()] };
        let body: Value = serde_json::from_slice(&answer.body("u")).unwrap();
        let status = json!({"status": "Failure", "reason": "BadRequest", "code": 400, "message": "no"});
        let response = json!({"uid": "u", "allowed": false, "status": status, "warnings": ["w"]});
        assert_eq!(body, json!({"apiVersion": API, "kind": KIND, "response": response}));
        let body: Value = serde_json::from_slice(&Answer::default().body("u")).unwrap();
        assert_eq!(body["response"], json!({"uid": "u", "allowed": true}));
    }
}
