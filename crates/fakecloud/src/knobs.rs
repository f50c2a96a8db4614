//! What a test can turn while the cloud runs: settings that hold for every request.
//!
//! What holds for some requests only, or for the next few, is a [`crate::faults::Rule`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cloudflare::ZonePlan;
use crate::limit::RateLimit;

/// The settings of a cloud. The default is a cloud without delays, limits or faults; any bearer token that is not
/// empty is good.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Knobs {
    /// From arrival to effect.
    #[serde(rename = "latency_before_ms", with = "crate::millis")]
    pub latency_before: Duration,
    /// From effect to answer.
    #[serde(rename = "latency_after_ms", with = "crate::millis")]
    pub latency_after: Duration,
    /// Up to this much more before the effect, drawn from the seeded source.
    #[serde(rename = "jitter_ms", with = "crate::millis")]
    pub jitter: Duration,
    /// How long an action is in progress before its effect. Zero: it has its effect with the request, but is still
    /// answered as in progress.
    #[serde(rename = "action_time_ms", with = "crate::millis")]
    pub action_time: Duration,
    /// How long a new action is unknown to reads.
    #[serde(rename = "action_hidden_ms", with = "crate::millis")]
    pub action_hidden: Duration,
    /// Reads show the state of this long ago.
    #[serde(rename = "read_lag_ms", with = "crate::millis")]
    pub read_lag: Duration,
    /// How many IPv4 addresses an account may have (DigitalOcean: `floating_ip_limit`). Seeding is not bound by it.
    pub address_limit: u64,
    /// How many machines the account page says are allowed.
    pub machine_limit: u64,
    /// The request budget of each token; none: headers show an untouched budget.
    pub rate: Option<RateLimit>,
    /// What the headers say is left of the budget, whatever was used; none: the truth.
    pub rate_remaining: Option<u32>,
    /// The only token that is accepted; none: every non-empty one.
    pub token: Option<String>,
    /// No token is accepted any more.
    pub token_expired: bool,
    /// Whether the token may read machines. Without, DigitalOcean leaves `droplet` out of addresses.
    pub machine_read: bool,
    /// The plan of every zone at Cloudflare.
    pub zone_plan: ZonePlan,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            latency_before: Duration::ZERO,
            latency_after: Duration::ZERO,
            jitter: Duration::ZERO,
            action_time: Duration::ZERO,
            action_hidden: Duration::ZERO,
            read_lag: Duration::ZERO,
            address_limit: 1_000,
            machine_limit: 1_000,
            rate: None,
            rate_remaining: None,
            token: None,
            token_expired: false,
            machine_read: true,
            zone_plan: ZonePlan::default(),
        }
    }
}
