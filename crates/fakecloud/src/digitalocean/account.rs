//! `GET /v2/account`.

use http::StatusCode;
use serde_json::json;

use crate::call::Reply;
use crate::request_context::Turn;

/// The account, with its limits.
pub(super) fn get(turn: &Turn<'_>) -> Reply {
    let body = json!({"account": {
        "droplet_limit": turn.knobs.machine_limit,
        "floating_ip_limit": turn.knobs.address_limit,
        "reserved_ip_limit": turn.knobs.address_limit,
        "volume_limit": 100,
        "email": "fakecloud@example.com",
        "name": "Fake Cloud",
        "uuid": "00000000000000000000000000000000fa4ec10d",
        "email_verified": true,
        "status": "active",
        "status_message": "",
        "team": {"name": "My Team", "uuid": "0000000000000000000000000000000000007ea4"},
    }});
    Reply::json(StatusCode::OK, &body)
}
