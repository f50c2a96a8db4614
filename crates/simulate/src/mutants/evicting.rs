//! A mutant that evicts pods as soon as their node is noted, before the address has left.

use std::pin::Pin;

use http::{Method, Request};
use http_body::Body as _;
use kube::client::Body;
use pontoon::fronts::net_ip_allocation::EVICT_ANNOTATION;
use serde_json::{Value, json};
use tower::Service;

use crate::cluster::NAMESPACE;
use crate::wire::{ApiWire, WireBody};

type Answer = Result<http::Response<WireBody>, fakekube::Lost>;

/// Sends a request, and evicts the pods of a node that the request notes.
pub(super) async fn pass(mut wire: ApiWire, request: Request<Body>) -> Answer {
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await.map_err(|_| fakekube::Lost)?;
    let patch: Value = serde_json::from_slice(&body).unwrap_or_default();
    let noted = patch["metadata"]["annotations"][EVICT_ANNOTATION].is_string();
    let node = parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    let answer = wire.call(Request::from_parts(parts, Body::from(body.to_vec()))).await?;
    if noted {
        evict_all(&mut wire, &node).await?;
    }
    Ok(answer)
}

async fn evict_all(wire: &mut ApiWire, node: &str) -> Result<(), fakekube::Lost> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let listed = wire.call(request(Method::GET, &pods, Value::Null)).await?;
    let listed = read(listed.into_body()).await;
    let here = listed["items"].as_array().into_iter().flatten();
    let here = here.filter(|pod| pod["spec"]["nodeName"] == node);
    for pod in here.filter(|pod| pod["metadata"]["labels"]["app"] == "web") {
        let metadata = &pod["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let body = json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
            "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
        });
        drop(wire.call(request(Method::POST, &format!("{pods}/{name}/eviction"), body)).await?);
    }
    Ok(())
}

fn request(method: Method, path: &str, body: Value) -> Request<Body> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method;
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert(http::header::CONTENT_TYPE, json);
    request
}

async fn read(mut body: WireBody) -> Value {
    let mut all = Vec::new();
    while let Some(Ok(frame)) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        all.extend(frame.into_data().unwrap_or_default());
    }
    serde_json::from_slice(&all).unwrap_or_default()
}
