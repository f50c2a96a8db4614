//! Mutants that write a wrong ledger.

use http::{Request, Response};
use kube::client::Body;
use pontoon::api::ADDRESSES_ANNOTATION;
use serde_json::{Value, json};
use tower::Service;

use crate::wire::{ApiAction, ApiWire, WireBody};

/// Records the first address from before a reservation as reserved.
pub(super) fn adopt(ledger: &mut Value) {
    if let Some(stranger) = ledger["strangers"].get(0).cloned() {
        ledger["created"].as_array_mut().into_iter().for_each(|all| all.push(stranger.clone()));
    }
}

/// Gives each reservation its own copy of the addresses from before, in the size that 10,000
/// addresses have. The ledger of two reservations then outgrows an annotation.
pub(super) fn outgrow(ledger: &mut Value) {
    const SIZE: usize = 10_000 * "\"203.0.113.100\",".len();
    let copies = ledger["intents"].as_array().map_or(0, Vec::len);
    ledger["copies"] = json!(vec![" ".repeat(SIZE); copies]);
}

/// Sends a request. A write of a ledger is sent with this change.
pub(super) async fn write(
    mut wire: ApiWire,
    request: Request<Body>,
    change: fn(&mut Value),
) -> Result<Response<WireBody>, fakekube::Lost> {
    let query = request.uri().query().unwrap_or_default();
    if ApiAction::of(request.method(), request.uri().path(), query) != ApiAction::WriteLedger {
        return wire.call(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await.map_err(|_| fakekube::Lost)?;
    let mut patch: Value = serde_json::from_slice(&body).unwrap_or_default();
    let annotation = &mut patch["metadata"]["annotations"][ADDRESSES_ANNOTATION];
    let parsed = annotation.as_str().map(serde_json::from_str::<Value>);
    if let Some(Ok(mut ledger)) = parsed {
        change(&mut ledger);
        *annotation = json!(ledger.to_string());
    }
    wire.call(Request::from_parts(parts, Body::from(patch.to_string().into_bytes()))).await
}
