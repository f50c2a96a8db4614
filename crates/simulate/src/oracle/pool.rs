//! Pools as the API server has them, with their past.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;

use super::cluster::Machine;
use super::evictions::Evicting;
use super::front::Front;
use super::matching::Matching;
use super::variations::Ways;
use super::{API_LAG, CLOUD_LAG};
use crate::schedule::Millis;

/// A pool.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub uid: String,
    /// The time of creation.
    pub born: Millis,
    pub front: Front,
    pub listed: Vec<IpAddr>,
    pub wanted: Option<usize>,
    /// The requested nodes. If unreadable, the last readable request.
    pub matching: Matching,
    /// The time since when the spec is unreadable.
    pub unclear: Option<Millis>,
    /// `assignmentCoolOffSeconds`.
    pub cool_off: Millis,
    /// Reserved and kept addresses in the annotation. Without an annotation, the addresses in the
    /// status.
    pub recorded: Vec<IpAddr>,
    /// Addresses in the status, no longer claimed.
    pub leaving: Vec<IpAddr>,
    /// The use of each address over time.
    pub used: BTreeMap<IpAddr, Fit>,
    /// The time since when each address is listed.
    pub listed_since: BTreeMap<IpAddr, Millis>,
    /// Recent numbers of missing addresses, with their end times.
    pub lacked: Vec<(usize, Millis)>,
    pub intents: BTreeMap<String, Intent>,
    /// Every intent ever written.
    pub written: BTreeMap<String, Written>,
    pub status: Value,
    /// The eligibility of machines over time: which may keep an address.
    pub fits: BTreeMap<Machine, Fit>,
    /// Which machines may receive an address, where those are fewer.
    pub receives: BTreeMap<Machine, Fit>,
    /// The workload whose pods are evicted.
    pub evicting: Evicting,
    /// Further fields of the object.
    pub ways: Ways,
}

/// Whether a condition holds, and since when: for example the eligibility of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub eligible: bool,
    pub since: Millis,
    /// The start of the present period for the pool itself. By a `match` that the pool has anew, the
    /// period may have begun later.
    pub own: Millis,
    /// The start of the previous, opposite period.
    pub before: Millis,
    /// The previous period was long and quiet enough to be known to all.
    pub seen: bool,
}

impl Fit {
    /// A condition that never held.
    pub fn never(now: Millis) -> Self {
        Self { eligible: false, since: now, own: now, before: now, seen: false }
    }

    /// Notes the condition's present value.
    pub fn set(&mut self, eligible: bool, now: Millis) {
        if self.eligible != eligible {
            *self = Self { eligible, since: now, own: now, before: self.since, seen: false };
        }
    }

    /// Whether the condition held before, and holds no longer.
    pub fn ended(&self) -> bool {
        !self.eligible && self.before < self.since
    }

    /// Whether the condition held all the time since `floor`.
    pub fn surely(&self, floor: Millis) -> bool {
        self.eligible && self.since <= floor
    }
}

/// An intent in a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intent {
    pub target: Option<Machine>,
    pub six: bool,
    pub strangers: BTreeSet<IpAddr>,
}

/// An intent and the time it was open.
#[derive(Debug)]
pub(super) struct Written {
    intent: Intent,
    since: Millis,
    /// The time the intent left the ledger.
    left: Option<Millis>,
}

impl Written {
    /// Whether a stranger that appeared at `time` may pass for the result of this intent.
    fn may_be_mistaken(&self, ip: IpAddr, time: Millis) -> bool {
        let open = self.since.saturating_sub(CLOUD_LAG) <= time
            && self.left.is_none_or(|left| time <= left + API_LAG);
        open && self.intent.six == ip.is_ipv6() && !self.intent.strangers.contains(&ip)
    }
}

impl Pool {
    /// Every intent ever written.
    pub fn ever_meant(&self) -> impl Iterator<Item = &Intent> {
        self.written.values().map(|one| &one.intent)
    }

    /// Whether a stranger that appeared at `time` may pass for a reservation of this pool.
    pub fn may_mistake(&self, ip: IpAddr, time: Millis) -> bool {
        self.written.values().any(|one| one.may_be_mistaken(ip, time))
    }

    /// All claimed addresses.
    pub fn claims(&self) -> BTreeSet<IpAddr> {
        self.listed.iter().chain(&self.recorded).copied().collect()
    }

    /// All claimed addresses in order of use.
    fn in_order(&self) -> Vec<IpAddr> {
        let mut all = Vec::new();
        for ip in self.listed.iter().chain(&self.recorded) {
            if !all.contains(ip) {
                all.push(*ip);
            }
        }
        all
    }

    /// Whether an address is in use, not in excess.
    pub fn uses(&self, ip: IpAddr) -> bool {
        self.in_order().into_iter().take(self.wants()).any(|one| one == ip)
    }

    /// Delisted addresses kept by the pool, because at least as many addresses are missing.
    pub fn keeps(&self) -> impl Iterator<Item = IpAddr> {
        let has = self.claims().len() + self.intents.len();
        let lacks = self.wanted.unwrap_or(0).saturating_sub(has);
        let all = (self.leaving.len() <= lacks).then_some(&self.leaving);
        all.into_iter().flatten().copied()
    }

    /// The addresses reserved for the pool by its status.
    pub fn said_created(&self) -> Vec<IpAddr> {
        addresses(&self.status["createdIPs"])
    }

    pub fn open_by_region(&self) -> usize {
        self.intents.values().filter(|intent| intent.target.is_none()).count()
    }

    /// The number of wanted addresses.
    pub fn wants(&self) -> usize {
        self.wanted.unwrap_or_else(|| self.claims().len())
    }

    /// Whether a machine is eligible.
    pub fn may_use(&self, machine: Machine) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.eligible)
    }

    /// Which machines may receive an address, over time.
    pub fn receivers(&self) -> &BTreeMap<Machine, Fit> {
        if self.matching.keeping.is_some() { &self.receives } else { &self.fits }
    }

    /// Whether a machine might receive an address at some time since `floor`.
    pub fn might_receive(&self, machine: Machine, floor: Millis) -> bool {
        self.receivers().get(&machine).is_some_and(|fit| fit.eligible || fit.since >= floor)
    }

    /// Whether a machine was eligible at some time since `floor`.
    pub fn might_use(&self, machine: Machine, floor: Millis) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.eligible || fit.since >= floor)
    }

    /// Whether a machine was eligible all the time since `floor`.
    pub fn surely_uses(&self, machine: Machine, floor: Millis) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.surely(floor))
    }

    /// Whether an address was in use all the time since `floor`.
    pub fn surely_wants(&self, ip: IpAddr, floor: Millis) -> bool {
        self.used.get(&ip).is_some_and(|used| used.surely(floor))
    }

    /// Whether the spec is readable.
    pub fn is_understood(&self) -> bool {
        self.unclear.is_none()
    }

    /// The largest number of missing addresses since `floor`.
    pub fn most_lacked(&self, floor: Millis) -> usize {
        let past = self.lacked.iter().filter(|(_, until)| *until >= floor);
        past.map(|(count, _)| *count).chain([self.lacks()]).max().unwrap_or(0)
    }

    /// The number of addresses wanted beyond the listed ones. An address that is listed twice counts
    /// once.
    fn lacks(&self) -> usize {
        let listed: BTreeSet<&IpAddr> = self.listed.iter().collect();
        self.wanted.unwrap_or(0).saturating_sub(listed.len())
    }
}

impl Pool {
    /// Notes the number of missing addresses until now.
    pub fn note_lack(&mut self, now: Millis) {
        let lacks = self.lacks();
        match self.lacked.last_mut() {
            Some((count, until)) if *count == lacks => *until = now,
            _ => self.lacked.push((lacks, now)),
        }
    }

    pub fn read_spec(&mut self, spec: &Value, now: Millis) {
        self.listed = addresses(&spec[self.front.list()]);
        self.evicting.read(spec, now);
        self.wanted = spec["desiredIPs"].as_u64().and_then(|count| usize::try_from(count).ok());
        self.cool_off =
            (spec["assignmentCoolOffSeconds"].as_f64().unwrap_or(0.0) * 1000.0) as Millis;
    }

    /// Reads the ledger. An unreadable ledger changes nothing. Returns whether the ledger was
    /// readable.
    pub fn read_ledger(&mut self, annotation: &Value) -> bool {
        let parsed = annotation.as_str().map(serde_json::from_str::<Value>);
        let readable = |ledger: &Value| ledger.is_object();
        match parsed {
            Some(Ok(ledger)) if readable(&ledger) => {
                self.intents = intents(&ledger);
                self.ways.created = addresses(&ledger["created"]);
                self.ways.kept = addresses(&ledger["kept"]);
                self.ways.recorded.extend(self.ways.created.iter().copied());
                let both = self.ways.created.iter().chain(&self.ways.kept);
                self.recorded = both.copied().collect();
            }
            Some(_) => return false,
            None => {
                self.intents.clear();
                self.ways.created.clear();
                self.ways.kept.clear();
                // The status is the published copy of a ledger whose annotation was removed.
                self.recorded = self.said_created();
            }
        }
        true
    }

    /// Notes which intents are open.
    pub fn note_intents(&mut self, now: Millis) {
        for (id, one) in &mut self.written {
            one.left = (!self.intents.contains_key(id)).then(|| one.left.unwrap_or(now));
        }
        for (id, intent) in &self.intents {
            let new = || Written { intent: intent.clone(), since: now, left: None };
            self.written.entry(id.clone()).or_insert_with(new).intent = intent.clone();
        }
    }

    /// Updates the used and listed addresses.
    pub fn note_uses(&mut self, now: Millis) {
        // The status names a delisted address until the pool has let go of it. A pool that lacks
        // addresses keeps such an address.
        let had = self.status["ips"].as_object().into_iter().flat_map(|ips| ips.keys());
        let had = had.filter_map(|ip| ip.parse().ok());
        let claims = self.claims();
        self.leaving = had.filter(|ip| !claims.contains(ip)).collect();
        let in_use: BTreeSet<IpAddr> = self.in_order().into_iter().take(self.wants()).collect();
        for ip in &claims {
            self.used.entry(*ip).or_insert(Fit::never(now));
        }
        for (ip, used) in &mut self.used {
            used.set(in_use.contains(ip), now);
        }
        self.listed_since.retain(|ip, _| self.listed.contains(ip));
        for ip in &self.listed {
            self.listed_since.entry(*ip).or_insert(now);
        }
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn addresses(value: &Value) -> Vec<IpAddr> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|ip| ip.as_str()?.parse().ok()).collect()
}

/// The intents of a ledger. The ledger names strangers that all intents have in common only once.
fn intents(ledger: &Value) -> BTreeMap<String, Intent> {
    let common = addresses(&ledger["strangers"]);
    let intent = |intent: &Value| {
        // A machine's identifier ends with its number.
        let number = |target: &str| target.rsplit('-').next()?.parse().ok();
        let target = intent["target"].as_str().and_then(number);
        let own = addresses(&intent["strangers"]);
        let strangers = own.into_iter().chain(common.iter().copied()).collect();
        let six = intent["v6"] == true;
        (text(&intent["id"]).to_owned(), Intent { target, six, strangers })
    };
    ledger["intents"].as_array().into_iter().flatten().map(intent).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_that_is_listed_twice_counts_once() {
        let ips = ["192.0.2.1", "192.0.2.2", "192.0.2.1"];
        let lacks = |wanted: usize| {
            let mut pool = Pool::default();
            pool.read_spec(&json!({"ips": ips, "desiredIPs": wanted}), 0);
            pool.most_lacked(0)
        };
        assert_eq!([2, 3, 4].map(lacks), [0, 1, 2]);
    }

    #[test]
    fn a_stranger_that_an_intent_names_does_not_pass_for_its_result() {
        let [common, own, new] =
            ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|ip| ip.parse::<IpAddr>().unwrap());
        let ledger = json!({
            "intents": [{"id": "1", "strangers": [own]}], "strangers": [common],
        });
        let mut pool = Pool::default();
        assert!(pool.read_ledger(&json!(ledger.to_string())));
        pool.note_intents(1_000);
        assert_eq!([common, own, new].map(|ip| pool.may_mistake(ip, 1_000)), [false, false, true]);
    }
}
