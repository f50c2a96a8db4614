//! Changes of several calls: the decision is as old as the first call. At Google Cloud each change of
//! an address begins by reading the address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::cloud::Sent;
use super::{API_LAG_IN_CALM, Oracle};
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// The longest time between the first call of a change and its last: an operation is waited for for
/// 30 seconds, and the calls before and after it may be slow.
const LONGEST: Millis = 60_000;

/// The last time at which each process began a change of an address.
#[derive(Debug, Default)]
pub(super) struct Steps(BTreeMap<(String, IpAddr), Millis>);

impl Oracle {
    /// Notes the first call of a change.
    pub(super) fn note_step(&mut self, sent: &Sent) {
        if let (CloudAction::ReadAddress, Some(ip), true) =
            (sent.action, sent.ip, self.vendor.displaces_own())
        {
            let now = self.now();
            self.steps.0.insert((sent.process.clone(), ip), now);
        }
    }

    /// The time at which the change was decided that a call belongs to. A call about a machine's own
    /// address belongs to the oldest change that may be under way.
    pub(super) fn decided_at(&self, sent: &Sent) -> Millis {
        let now = self.now();
        let ours = self.steps.0.iter().filter(|((process, _), _)| *process == sent.process);
        let its = ours.filter(|((_, ip), _)| sent.ip.is_none_or(|one| one == *ip));
        let lately = its.map(|(_, time)| *time).filter(|time| time + LONGEST >= now);
        lately.min().filter(|_| self.vendor.displaces_own()).unwrap_or(now)
    }

    /// Whether a call that names a machine belongs to a change of the address there. Otherwise a person
    /// put the address there just now.
    pub(super) fn is_meant(&self, sent: &Sent) -> bool {
        let Some(ip) = sent.ip.filter(|_| self.vendor.displaces_own()) else { return true };
        let begun = self.steps.0.get(&(sent.process.clone(), ip));
        begun.is_some_and(|time| time + LONGEST >= self.now())
    }

    /// The oldest possible time of the sender's view of the API server when the call was decided.
    pub(super) fn decided_floor(&self, sent: &Sent) -> Millis {
        self.api_floor().min(self.decided_at(sent).saturating_sub(API_LAG_IN_CALM))
    }
}
