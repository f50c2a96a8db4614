//! Capabilities of a DNS host, and the finding about a request beyond them.

use std::ops::RangeInclusive;

use super::diff::DEFAULT_TTL;
use crate::model::{Finding, RecordRequest};

/// Capabilities of a DNS host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordAbilities {
    /// The times to live that the host accepts, in seconds. A zone may allow fewer.
    pub ttls: RangeInclusive<u32>,
    /// The time to live that leaves the choice to the host.
    pub automatic_ttl: Option<u32>,
}

impl RecordAbilities {
    /// The finding about a time to live that the host refuses, with the name of its field.
    pub(crate) fn refuse_ttl(&self, request: &RecordRequest, field: &str) -> Option<Finding> {
        let ttl = request.ttl.unwrap_or(DEFAULT_TTL);
        if self.ttls.contains(&ttl) || self.automatic_ttl == Some(ttl) {
            return None;
        }
        let (host, shortest, longest) = (&request.account, self.ttls.start(), self.ttls.end());
        let automatic = self.automatic_ttl.map_or_else(String::new, |ttl| {
            format!(", or {ttl}, which leaves the choice to {host}")
        });
        let message = format!(
            "{field} is {ttl}, and {host} accepts {shortest} to {longest} seconds{automatic}; no \
             record is written until the field is corrected"
        );
        Some(Finding { reason: "InvalidRecord", message: message.into() })
    }
}
