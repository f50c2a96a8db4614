//! Settings for all requests, adjustable while the cloud runs.
//!
//! Settings for some requests only are [`crate::Rule`]s.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limit::RateLimit;
use crate::zone::ZonePlan;

/// The settings of a cloud. By default there are no delays, limits or faults, and every non-empty
/// bearer token is accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Knobs {
    /// Delay from arrival to effect.
    #[serde(rename = "latency_before_ms", with = "fakehttp::millis")]
    pub latency_before: Duration,
    /// Delay from effect to answer.
    #[serde(rename = "latency_after_ms", with = "fakehttp::millis")]
    pub latency_after: Duration,
    /// Upper limit of an additional delay before the effect, drawn from the seeded source.
    #[serde(rename = "jitter_ms", with = "fakehttp::millis")]
    pub jitter: Duration,
    /// Duration of an action before its effect. With zero, the action takes effect with the
    /// request, but the answer still says in progress.
    #[serde(rename = "action_time_ms", with = "fakehttp::millis")]
    pub action_time: Duration,
    /// Time during which reads do not show a new action.
    #[serde(rename = "action_hidden_ms", with = "fakehttp::millis")]
    pub action_hidden: Duration,
    /// Age of the state that reads show.
    #[serde(rename = "read_lag_ms", with = "fakehttp::millis")]
    pub read_lag: Duration,
    /// Quota of IPv4 addresses. Seeding ignores the quota.
    pub address_limit: u64,
    /// The most addresses of one family that seeding and people put on a machine: one more displaces
    /// another. Vendors have limits of their own.
    pub addresses_per_machine: usize,
    /// Quota of machines on the account page. Not enforced.
    pub machine_limit: u64,
    /// The request budget of each token. `None`: no limit, and headers show an unused budget.
    pub rate: Option<RateLimit>,
    /// Overrides the remaining budget in headers; `None`: the true value.
    pub rate_remaining: Option<u32>,
    /// The only accepted token; `None`: every non-empty token.
    pub token: Option<String>,
    /// Refuses all tokens, as if expired.
    pub token_expired: bool,
    /// Whether the token may read machines. Without the right, vendors that ask for it do not show
    /// the machines of addresses.
    pub machine_read: bool,
    /// The permissions that the token lacks, by the vendor's names, at vendors with single
    /// permissions.
    pub denied: BTreeSet<String>,
    /// The plan of every zone, at hosts with plans.
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
            addresses_per_machine: 1,
            machine_limit: 1_000,
            rate: None,
            rate_remaining: None,
            token: None,
            token_expired: false,
            machine_read: true,
            denied: BTreeSet::new(),
            zone_plan: ZonePlan::default(),
        }
    }
}
