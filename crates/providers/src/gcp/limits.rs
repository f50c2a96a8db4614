//! Google's rate limits: quotas per project and minute, told by a 403 with the reason
//! `rateLimitExceeded` and by no header.

use std::time::Duration;

use crate::layers::{Burst, RateRules};

use super::error::is_throttled;

/// Half of the usual quota of 1,500 requests per minute: others in the project have clients too.
/// After a refusal without a stated wait the budget is closed for a minute, at whose end the quota
/// is filled again.
pub(super) const RULES: RateRules = RateRules {
    headroom: |_| None,
    burst: Some(Burst { requests: 750, per: Duration::from_secs(60) }),
    refuses: is_throttled,
};
