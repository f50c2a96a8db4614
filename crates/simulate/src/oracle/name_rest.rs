//! Liveness of names: the final state once trouble is over.

use std::net::IpAddr;

use super::Oracle;
use super::names::{Asking, KINDS, Site, Source, kind};

impl Oracle {
    /// Names with wrong records, and objects with wrong conditions.
    pub(super) fn misnamed(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, asking) in &self.names.asking {
            let Some(site) = &asking.site else { continue };
            if !self.can_name(&site.zone) || self.is_unserved(site) {
                continue;
            }
            let owner = self.names.owners.get(site).and_then(|owner| owner.key.as_ref());
            let problem = if owner == Some(key) {
                self.mislisted(site, asking).or_else(|| self.mistold(asking))
            } else {
                says(asking, &["Conflict"])
            };
            wrong.extend(problem.map(|problem| format!("{key}: {site:?}: {problem}")));
        }
        wrong
    }

    /// Whether a pool requesting the name is paused or unreadable.
    fn is_unserved(&self, site: &Site) -> bool {
        let mut asking = self.names.asking.values().filter(|one| one.site.as_ref() == Some(site));
        asking.any(|one| match &one.source {
            Source::Pool(key) => self.cluster.pools.get(key).is_some_and(|pool| !pool.is_served()),
            Source::Nodes { .. } | Source::Nothing => false,
        })
    }

    /// The addresses to list. An address claimed by several pools belongs to the pool whose status
    /// shows the address as active.
    fn wanted(&self, asking: &Asking) -> Vec<IpAddr> {
        let Source::Pool(key) = &asking.source else { return asking.lists().collect() };
        let Some(pool) = self.cluster.pools.get(key) else { return vec![] };
        let its = |ip: &IpAddr| {
            let active = pool.status["ips"][ip.to_string()]["state"] == "active";
            active || self.cluster.claimants(*ip).count() == 1
        };
        asking.lists().filter(its).collect()
    }

    /// L1: a name lists exactly the addresses in place, for each family separately.
    fn mislisted(&self, site: &Site, asking: &Asking) -> Option<String> {
        KINDS.into_iter().find_map(|of| self.mislisted_of(site, asking, of))
    }

    fn mislisted_of(&self, site: &Site, asking: &Asking, of: &str) -> Option<String> {
        let all = || self.names.records(site, of);
        let off = all().find(|one| u64::from(one.ttl) != asking.ttl || one.proxied);
        let mut listed: Vec<IpAddr> = all().filter_map(|one| one.data.parse().ok()).collect();
        listed.sort_unstable();
        let mut wanted = self.wanted(asking);
        wanted.retain(|ip| kind(*ip) == of);
        if wanted.is_empty() {
            // Records from before the object had the name stay, also its own from before another name.
            let had = asking.holds.as_ref() == Some(site);
            let holds = had && asking.holds_types.iter().any(|one| one == of);
            let is_left = asking.removes && holds && !listed.is_empty();
            // Records that a person deleted stay in the status until the name is read.
            let is_gone = holds && listed.is_empty();
            return match (is_left, is_gone) {
                (true, _) => Some(format!("still lists {listed:?}")),
                (_, true) => Some(format!("is said to have records of type {of}")),
                _ => None,
            };
        }
        if listed != wanted {
            return Some(format!("lists {listed:?} instead of {wanted:?}"));
        }
        off.map(|record| format!("{} has the TTL {}, {}", record.data, record.ttl, record.proxied))
    }

    /// L1: the object's condition describes its name correctly.
    fn mistold(&self, asking: &Asking) -> Option<String> {
        match (self.wanted(asking).is_empty(), asking.removes) {
            (false, _) => says(asking, &["RecordCurrent"]),
            (true, true) => says(asking, &["RecordRemoved", "NothingToList"]),
            (true, false) => says(asking, &["NothingToList"]),
        }
    }
}

/// The object's condition, if not one of `reasons`.
fn says(asking: &Asking, reasons: &[&str]) -> Option<String> {
    let said = asking.says.as_ref();
    let right = said.is_some_and(|(status, reason)| {
        let well = ["RecordCurrent", "RecordRemoved"].contains(&reason.as_str());
        reasons.contains(&reason.as_str()) && (status == "True") == well
    });
    (!right).then(|| format!("says {said:?} instead of {reasons:?}"))
}
