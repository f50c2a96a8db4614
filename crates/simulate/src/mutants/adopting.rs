//! A mutant that records an address from before a reservation as its result.

use http::Request;
use kube::client::Body;
use pontoon::api::ADDRESSES_ANNOTATION;
use serde_json::{Value, json};
use tower::Service;

use crate::wire::{ApiAction, ApiWire, WireBody};

/// Sends a request. A write of a ledger that names strangers records the first as reserved.
pub(super) async fn pass(
    mut wire: ApiWire,
    request: Request<Body>,
) -> Result<http::Response<WireBody>, fakekube::Lost> {
    let query = request.uri().query().unwrap_or_default();
    if ApiAction::of(request.method(), request.uri().path(), query) != ApiAction::WriteLedger {
        return wire.call(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await.map_err(|_| fakekube::Lost)?;
    let mut patch: Value = serde_json::from_slice(&body).unwrap_or_default();
    let annotation = &mut patch["metadata"]["annotations"][ADDRESSES_ANNOTATION];
    let parsed = annotation.as_str().map(serde_json::from_str::<Value>);
    if let Some(Ok(mut ledger)) = parsed
        && let Some(stranger) = ledger["strangers"].get(0).cloned()
    {
        ledger["created"].as_array_mut().into_iter().for_each(|all| all.push(stranger.clone()));
        *annotation = json!(ledger.to_string());
    }
    wire.call(Request::from_parts(parts, Body::from(patch.to_string().into_bytes()))).await
}
