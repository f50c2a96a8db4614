//! Conditions, and times in the form of a status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time as KubeTime};
use pontoon_core::Time;
use pontoon_core::verdict::{Outlook, Restraint, Withheld};

use crate::api::{CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED};

/// Builds conditions, based on the stored conditions.
pub struct Conditions<'a> {
    /// The stored conditions.
    pub before: &'a [Condition],
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The time of the report.
    pub now: Time,
}

impl Conditions<'_> {
    /// `Ready`, `Reconciling` and `Stalled`, for `kubectl wait`, Flux and Argo CD.
    pub fn three(
        &self,
        ready: &str,
        outlook: Outlook,
        reason: &str,
        message: &str,
    ) -> Vec<Condition> {
        let when = |holds: bool| if holds { "True" } else { "False" };
        let (working, stuck) = (outlook == Outlook::Working, outlook == Outlook::Stuck);
        vec![
            self.condition(CONDITION_READY, ready, reason, message),
            self.condition(CONDITION_RECONCILING, when(working), reason, message),
            self.condition(CONDITION_STALLED, when(stuck), reason, message),
        ]
    }

    /// A condition with a transition time that changes only with its status.
    pub fn condition(&self, type_: &str, status: &str, reason: &str, message: &str) -> Condition {
        let same = self.before.iter().find(|one| one.type_ == type_ && one.status == status);
        let now = KubeTime(timestamp(self.now).unwrap_or_default());
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.generation,
            last_transition_time: same.map_or(now, |one| one.last_transition_time.clone()),
        }
    }
}

/// The reason of a stored condition.
pub fn said<'c>(conditions: &'c [Condition], type_: &str) -> Option<&'c str> {
    conditions.iter().find(|one| one.type_ == type_).map(|one| one.reason.as_str())
}

/// The word of the restraint that a reason names.
pub fn restraint(reason: &str) -> Option<&'static str> {
    Restraint::WORDS.into_iter().find(|word| *word == reason)
}

/// A time in the form of a status.
pub fn micro_time(time: Time) -> Option<MicroTime> {
    timestamp(time).map(MicroTime)
}

/// A time in the form of conditions and events.
pub fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::from_microsecond(time.as_micros()).ok()
}

/// Whether a predecessor owns the status, or may own the status. A working predecessor writes its
/// own fields, so writing them as well would start a fight.
pub fn is_anothers(withheld: Option<&Withheld>) -> bool {
    withheld.is_some_and(|withheld| withheld.by.is_for_another())
}
