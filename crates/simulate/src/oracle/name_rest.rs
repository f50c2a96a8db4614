//! What must come true of names in DNS once nothing goes wrong any more.

use std::net::IpAddr;

use super::Oracle;
use super::names::{Asking, Site, Source};

impl Oracle {
    /// Names that do not list what they should, and objects that do not say what is true.
    pub(super) fn misnamed(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, asking) in &self.names.asking {
            let Some(site) = &asking.site else { continue };
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

    /// Whether several pools name an address: the one that had it first decides.
    fn is_shared(&self, asking: &Asking, ip: IpAddr) -> bool {
        matches!(asking.source, Source::Pool(_)) && self.cluster.claimants(ip).count() > 1
    }

    /// L1: a name lists exactly what is in place.
    fn mislisted(&self, site: &Site, asking: &Asking) -> Option<String> {
        let all = || self.names.records(site);
        let off = all().find(|one| u64::from(one.ttl) != asking.ttl || one.proxied);
        let listed = all().filter_map(|one| one.data.parse().ok());
        let mut listed: Vec<IpAddr> = listed.filter(|ip| !self.is_shared(asking, *ip)).collect();
        listed.sort_unstable();
        let wanted = asking.lists().filter(|ip| !self.is_shared(asking, *ip));
        let wanted: Vec<IpAddr> = wanted.collect();
        if wanted.is_empty() {
            // What somebody else put there before we had the name stays.
            let is_left = asking.removes && asking.holds_any && !listed.is_empty();
            let is_left = is_left && asking.lists().next().is_none();
            return is_left.then(|| format!("still lists {listed:?}"));
        }
        if listed != wanted {
            return Some(format!("lists {listed:?} instead of {wanted:?}"));
        }
        off.map(|record| format!("{} has the TTL {}, {}", record.data, record.ttl, record.proxied))
    }

    /// L1: the object says how its name is doing.
    fn mistold(&self, asking: &Asking) -> Option<String> {
        let lists = |shared| asking.lists().any(|ip| self.is_shared(asking, ip) == shared);
        match (lists(false), lists(true)) {
            (true, _) => says(asking, &["RecordCurrent"]),
            (false, true) => says(asking, &["RecordCurrent", "NothingToList", "RecordRemoved"]),
            (false, false) if asking.removes => says(asking, &["RecordRemoved", "NothingToList"]),
            (false, false) => says(asking, &["NothingToList"]),
        }
    }
}

/// What an object says of its name, if it is not one of these.
fn says(asking: &Asking, reasons: &[&str]) -> Option<String> {
    let said = asking.says.as_ref();
    let right = said.is_some_and(|(status, reason)| {
        let well = ["RecordCurrent", "RecordRemoved"].contains(&reason.as_str());
        reasons.contains(&reason.as_str()) && (status == "True") == well
    });
    (!right).then(|| format!("says {said:?} instead of {reasons:?}"))
}
