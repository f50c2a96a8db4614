//! An API server that answers from a script, then keeps silent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

/// An answer of the server.
pub struct Reply {
    status: u16,
    body: String,
}

impl Reply {
    /// A list with these objects.
    pub fn list(objects: &[Value]) -> Self {
        let list = json!({
            "apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": objects,
        });
        Self { status: 200, body: list.to_string() }
    }

    /// A watch with these events, which then ends.
    pub fn watch(events: &[Value]) -> Self {
        let lines = events.iter().map(|event| format!("{event}\n"));
        Self { status: 200, body: lines.collect() }
    }

    /// A refusal.
    pub fn refused(code: u16) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": code,
        });
        Self { status: code, body: status.to_string() }
    }

    /// A page of some proxy.
    pub fn html() -> Self {
        Self { status: 200, body: "<html>wait</html>".to_owned() }
    }
}

/// A client of a server with these answers. Each answer serves one request.
pub fn client(replies: impl IntoIterator<Item = Reply>) -> Client {
    let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
    let server = service_fn(move |_: Request<Body>| {
        let reply = replies.lock().unwrap().pop_front();
        async move {
            let Some(Reply { status, body }) = reply else { return std::future::pending().await };
            Response::builder().status(status).body(Body::from(body.into_bytes()))
        }
    });
    Client::new(server, "default")
}

/// An object.
pub fn object(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": version},
    })
}

/// The change of an object.
pub fn changed(object: &Value) -> Value {
    json!({"type": "MODIFIED", "object": object})
}

/// An object with a time that is too late for us, which an API server accepts.
pub fn undecodable() -> Value {
    let mut object = object("odd", "3");
    object["metadata"]["managedFields"] =
        json!([{"manager": "odd", "time": "9999-12-31T23:59:59Z"}]);
    object
}
