//! `/client/v4/zones`.

use http::StatusCode;
use serde_json::{Value, json};

use super::Answer;
use super::envelope::{Refusal, Sizes, page, single};
use super::ids::zone_id;
use crate::call::Call;
use crate::request_context::Turn;
use crate::store::State;
use crate::zone::Zone;

const SIZES: Sizes = Sizes { smallest: 5, usual: 20, largest: 50 };
const ACCOUNT: &str = "00000000000000000000000000acc001";

/// The zone with the given identifier.
pub(super) fn known<'a>(state: &'a State, call: &Call, id: &str) -> Result<&'a Zone, Refusal> {
    state.zones().find(|zone| zone_id(&zone.name) == id).ok_or_else(|| {
        let words =
            format!("Could not route to {}, perhaps your object identifier is invalid?", call.path);
        Refusal::new(StatusCode::NOT_FOUND, 7003, &words)
    })
}

/// Lists zones. The filter `name` takes the whole name; the vendor's operators (`contains:`) are
/// not emulated.
pub(super) fn list(turn: &Turn<'_>, call: &Call) -> Answer {
    for (name, value) in &call.query {
        let known = matches!(name.as_str(), "name" | "status" | "account.id" | "page" | "per_page");
        if !known || value.contains(':') {
            return Err(Refusal::not_emulated(call));
        }
    }
    let wants = |name, is: &str| call.parameter(name).is_none_or(|w| w.eq_ignore_ascii_case(is));
    let shown: Vec<&Zone> = turn
        .seen()
        .zones()
        .filter(|zone| wants("name", &zone.name) && wants("status", "active"))
        .filter(|_| wants("account.id", ACCOUNT))
        .collect();
    Ok(page(turn, call, &SIZES, &shown, |zone| show(turn, zone)))
}

pub(super) fn get(turn: &Turn<'_>, call: &Call, id: &str) -> Answer {
    Ok(single(&show(turn, known(turn.seen(), call, id)?)))
}

fn show(turn: &Turn<'_>, zone: &Zone) -> Value {
    let plan = turn.knobs.zone_plan.name();
    let since = fakehttp::seconds(turn.clock.base());
    json!({
        "id": zone_id(&zone.name),
        "name": zone.name,
        "status": "active",
        "paused": false,
        "type": "full",
        "development_mode": 0,
        "name_servers": ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"],
        "original_name_servers": null,
        "original_registrar": null,
        "original_dnshost": null,
        "account": {"id": ACCOUNT, "name": "fakecloud"},
        "owner": {"id": ACCOUNT, "name": "fakecloud", "type": "organization"},
        "plan": {"id": "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "name": plan, "is_subscribed": true},
        "meta": {"step": 2, "custom_certificate_quota": 0, "page_rule_quota": 3},
        "permissions": ["#dns_records:edit", "#dns_records:read", "#zone:read"],
        "created_on": since,
        "modified_on": since,
        "activated_on": since,
    })
}
