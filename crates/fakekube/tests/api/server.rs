//! A server under comparison, with helpers for scenarios.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use crate::mask::Mask;

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A server and the transcript of its answers.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    namespace: String,
    client: kube::Client,
    mask: RefCell<Mask>,
    transcript: RefCell<Vec<String>>,
    quiet: Cell<bool>,
}

/// An unmasked answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The body as JSON; for a watch the list of its events; null if neither.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn version(&self) -> String {
        self.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    }

    pub(crate) fn uid(&self) -> String {
        self.body["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// The names of a list's items.
    pub(crate) fn names(&self) -> Vec<String> {
        let items = self.body["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Server {
    pub(crate) fn new(name: &'static str, namespace: &str, client: kube::Client) -> Self {
        Self {
            name,
            namespace: namespace.to_owned(),
            client,
            mask: RefCell::default(),
            transcript: RefCell::default(),
            quiet: Cell::new(false),
        }
    }

    /// Creates the scenario's namespace.
    pub(crate) async fn begin(&self) {
        let namespace = json!({"metadata": {"name": self.namespace}});
        let answer = self.post("/api/v1/namespaces", &namespace).await;
        assert_eq!(answer.status, 201, "{}: {}", self.name, answer.body);
    }

    pub(crate) fn transcript(&self) -> Vec<String> {
        self.transcript.borrow().clone()
    }

    /// The scenario's namespace, also a prefix for the names of cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The path of a core resource in the scenario's namespace, such as `configmaps/a`.
    pub(crate) fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// A path of a group in the scenario's namespace.
    pub(crate) fn group(&self, group: &str, rest: &str) -> String {
        format!("/apis/{group}/namespaces/{}/{rest}", self.namespace)
    }

    /// Compares field managers in the following answers, too.
    pub(crate) fn with_managers(&self) {
        self.mask.borrow_mut().with_managers();
    }

    pub(crate) async fn apply(&self, path: &str, manager: &str, body: &Value) -> Answer {
        let join = if path.contains('?') { '&' } else { '?' };
        self.patch(&format!("{path}{join}fieldManager={manager}"), APPLY, body).await
    }

    /// Turns the comparison of the following answers on or off; returns the previous setting.
    pub(crate) fn compare(&self, on: bool) -> bool {
        !self.quiet.replace(!on)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.ask("GET", path, &[("accept", accept)], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, way: &str, body: &Value) -> Answer {
        self.ask("PATCH", path, &[("content-type", way)], &body.to_string()).await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Answer {
        self.patch(path, MERGE, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], "").await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.ask("DELETE", path, &[("content-type", "application/json")], &options.to_string())
            .await
    }

    /// Polls until the answer satisfies `wished`, and compares only the last answer. A real server's
    /// controllers take up to two minutes on a busy machine.
    pub(crate) async fn until(&self, path: &str, wished: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..6000 {
            let compared = self.compare(false);
            let answer = self.get(path).await;
            self.compare(compared);
            if wished(&answer) {
                return self.get(path).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{}: {path} never came to be as wished", self.name);
    }

    /// Creates a definition and waits until its first version is served.
    pub(crate) async fn define(&self, definition: &Value) {
        let compared = self.compare(false);
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let created = self.post(path, definition).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (group, version) = (text(&spec["group"]), text(&spec["versions"][0]["name"]));
        let list = format!("/apis/{group}/{version}/{}", text(&spec["names"]["plural"]));
        self.until(&list, |answer| answer.status == 200).await;
        self.compare(compared);
    }

    /// Sends a request and records the masked answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.as_bytes().to_vec())).unwrap();
        let (parts, body) = self.client.send(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = parts.status.as_u16();
        let warnings: Vec<&str> =
            parts.headers.get_all("warning").iter().filter_map(|one| one.to_str().ok()).collect();
        let header = |name: &str| parts.headers.get(name).and_then(|one| one.to_str().ok());
        let (content_type, again) = (header("content-type"), header("retry-after"));
        let body = read(&text);
        if !self.quiet.get() {
            let mut mask = self.mask.borrow_mut();
            let shown = match &body {
                Value::Null => mask.text(&text),
                body => format!("{:#}", mask.value(body)),
            };
            let path = mask.text(path);
            self.transcript.borrow_mut().push(format!(
                "{method} {path}: {status} {content_type:?} {again:?} {warnings:?}\n{shown}"
            ));
        }
        Answer { status, body }
    }
}

/// Parses JSON, or the lines of a watch as a list.
fn read(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str::<Value>(text)
        && value.get("object").is_none()
    {
        return value;
    }
    let events: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    match events {
        Ok(mut events) if !events.is_empty() => {
            events.retain(|event| !is_plain_bookmark(event));
            Value::Array(events)
        }
        _ => Value::Null,
    }
}

/// A bookmark whose time depends on the server.
fn is_plain_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"].get("annotations").is_none()
}
