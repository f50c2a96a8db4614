//! The administrator's policy: which objects may use which providers, addresses and zones.
//!
//! A policy is a list of rules. A rule governs the objects of some namespaces, and permits uses: pairs
//! of a provider and an address, and pairs of a DNS provider and a zone. An object that no rule governs
//! may use everything. An object that rules govern may use what one of them permits.
//!
//! The request of a forbidden object is withheld from the world, which then knows a finding in its
//! place: nothing is called for the object, and what the object has stays as it is.

mod cidr;
mod pattern;

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::model::{AccountId, Finding, ObjectKey, Pool, RecordRequest, RecordSet, Request, Text};
pub use cidr::Cidr;
pub use pattern::Pattern;

/// The reason of a forbidden object, for conditions and events.
pub const FORBIDDEN: &str = "Forbidden";

/// The administrator's policy. Objects in a namespace that no rule governs may use everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules, in any order.
    pub rules: Vec<Rule>,
}

/// The uses that objects of some namespaces may make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The governed namespaces. Objects of cluster-scoped kinds have the namespace "".
    pub namespaces: Vec<Pattern>,
    /// The permitted providers, of addresses and of DNS; `None` permits all.
    pub providers: Option<BTreeSet<Text>>,
    /// Ranges of permitted addresses; `None` permits all.
    pub cidrs: Option<Vec<Cidr>>,
    /// Permitted zones, as objects write them, in lower case; `None` permits all.
    pub zones: Option<BTreeSet<Text>>,
}

impl Rule {
    fn governs(&self, namespace: &str) -> bool {
        self.namespaces.iter().any(|pattern| pattern.matches(namespace))
    }

    fn permits_provider(&self, account: &AccountId) -> bool {
        self.providers.as_ref().is_none_or(|providers| providers.contains(&account.0))
    }

    fn permits_address(&self, ip: IpAddr) -> bool {
        self.cidrs.as_ref().is_none_or(|cidrs| cidrs.iter().any(|cidr| cidr.contains(ip)))
    }

    fn permits_zone(&self, zone: &str) -> bool {
        self.zones.as_ref().is_none_or(|zones| zones.contains(zone))
    }
}

impl Policy {
    /// Takes the request out of a forbidden pool, and puts a finding in its place. A forbidden pool
    /// keeps the addresses that it had from other pools, and no address that it only lists.
    pub(crate) fn withhold(&self, pool: &mut Pool) -> Option<Request> {
        let finding = self.on_pool(pool)?;
        pool.named = Some(Vec::new());
        std::mem::replace(&mut pool.request, Err(finding)).ok()
    }

    /// The same for records.
    pub(crate) fn withhold_records(&self, set: &mut RecordSet) -> Option<RecordRequest> {
        let request = set.request.as_ref().ok()?;
        let finding = self.on_records(&set.key, request)?;
        std::mem::replace(&mut set.request, Err(finding)).ok()
    }

    /// Why a pool is forbidden, if so. A pool with an invalid spec is not judged: nothing is called
    /// for it anyway.
    fn on_pool(&self, pool: &Pool) -> Option<Finding> {
        let request = pool.request.as_ref().ok()?;
        let rules = self.permitting(&pool.key, &request.account)?;
        let at = format!("at the provider \"{}\"", request.account);
        if rules.is_empty() {
            return Some(forbids(&pool.key, &format!("use the provider \"{}\"", request.account)));
        }
        let all = request.listed.iter().chain(&pool.ledger.created).chain(&pool.ledger.kept);
        let permitted = |ip: IpAddr| rules.iter().any(|rule| rule.permits_address(ip));
        if let Some(ip) = all.copied().find(|ip| !permitted(*ip)) {
            return Some(forbids(&pool.key, &format!("use {ip} {at}")));
        }
        // The address of a reservation is not known before.
        let reserves = request.wanted.is_some_and(|wanted| wanted > request.listed.len())
            || !pool.ledger.intents.is_empty()
            || pool.resolution.is_some();
        let limited = rules.iter().all(|rule| rule.cidrs.is_some());
        let words = format!("reserve addresses {at}: list permitted addresses instead");
        (reserves && limited).then(|| forbids(&pool.key, &words))
    }

    fn on_records(&self, key: &ObjectKey, request: &RecordRequest) -> Option<Finding> {
        let rules = self.permitting(key, &request.account)?;
        let provider = &request.account;
        if rules.is_empty() {
            return Some(forbids(key, &format!("use the DNS provider \"{provider}\"")));
        }
        let zone = plain_zone(&request.zone);
        let words = format!("write into the zone \"{zone}\" at the DNS provider \"{provider}\"");
        let permitted = rules.iter().any(|rule| rule.permits_zone(&zone));
        (!permitted).then(|| forbids(key, &words))
    }

    /// The rules that govern an object and permit a provider; `None` if no rule governs the object.
    fn permitting(&self, key: &ObjectKey, account: &AccountId) -> Option<Vec<&Rule>> {
        let governing: Vec<_> =
            self.rules.iter().filter(|rule| rule.governs(&key.namespace)).collect();
        let permits = |rule: &&Rule| rule.permits_provider(account);
        (!governing.is_empty()).then(|| governing.into_iter().filter(permits).collect())
    }
}

/// A zone in the form that rules have: lower case, without a dot at the end.
pub fn plain_zone(zone: &str) -> Text {
    zone.trim().trim_end_matches('.').to_ascii_lowercase().into()
}

fn forbids(key: &ObjectKey, deed: &str) -> Finding {
    let who = match &*key.namespace {
        "" => "objects without a namespace".to_owned(),
        namespace => format!("objects in namespace \"{namespace}\""),
    };
    let message = format!(
        "the operator's policy does not let {who} {deed}. No call is made for this; addresses and \
         records in place stay as they are"
    );
    Finding { reason: FORBIDDEN, message: message.into() }
}
