//! Liveness of VIPs: the final state of a management cluster once trouble is over.

use pontoon::management::{Ranges, names};
use serde_json::Value;

use super::Oracle;
use super::pool::text;
use super::vips::{HELD_FOR, Seen, Shown, is_by_hand, is_deleting, is_moved, is_paused, owners};

/// The roles by index.
const ROLES: [&str; 2] = ["control-plane", "ingress"];

impl Oracle {
    /// Everything wrong with VIPs after all deadlines.
    pub(super) fn unshown(&self) -> Vec<String> {
        let mut wrong = self.left_of_clusters();
        for cluster in self.vips.clusters.values() {
            let name = cluster.name();
            if cluster.deleting.is_some() {
                wrong.push(format!("{name} is still being deleted"));
                continue;
            }
            if cluster.paused.is_some() || is_moved(&cluster.object) {
                continue;
            }
            for role in [0, 1] {
                let text = self.unserved_role(cluster, role);
                wrong.extend(text.map(|text| format!("{name}, {}: {text}", ROLES[role])));
            }
            wrong.extend(self.misreported_vips(cluster));
        }
        wrong
    }

    /// A role without its VIP although an address could be had, or with an incomplete one.
    fn unserved_role(&self, cluster: &Seen, role: usize) -> Option<String> {
        if cluster.own[role].is_some() || self.is_unwanted(cluster, role) {
            return None;
        }
        let Some(ip) = cluster.vip(role) else {
            let room = self.room_for(cluster, role)?;
            return Some(format!("no VIP, and {room} has room"));
        };
        let (object, spec) = (&cluster.object, &cluster.object["spec"]);
        let whole = match role {
            0 => spec["controlPlaneEndpoint"]["port"].is_u64(),
            _ => Shown::IngressLabel.of(object) == Some(ip),
        };
        if !whole {
            return Some(format!("{ip} is written in part"));
        }
        let variable = [Shown::Variable, Shown::IngressVariable][role].of(object);
        let users = variable.is_some_and(is_by_hand);
        if self.defines(cluster, role) && !users && variable != Some(ip) {
            return Some(format!("{ip} and the variable {variable:?}"));
        }
        let claim = self.vips.claim(cluster, role);
        let held = claim.is_some_and(|claim| self.vips.is_held(claim, cluster.uid()));
        (held != self.vips.holds).then(|| format!("{ip} is held: {held}"))
    }

    fn is_unwanted(&self, cluster: &Seen, role: usize) -> bool {
        let annotations = &cluster.object["metadata"]["annotations"];
        role == 1 && annotations[names::INGRESS_ENABLED] == "false"
    }

    fn class<'v>(&'v self, cluster: &'v Seen) -> &'v str {
        text(&cluster.object["spec"]["topology"]["classRef"]["name"])
    }

    /// Whether the class defines the variable of a role.
    fn defines(&self, cluster: &Seen, role: usize) -> bool {
        let namespace = text(&cluster.object["metadata"]["namespace"]);
        let class = self.vips.classes.get(&format!("{namespace}/{}", self.class(cluster)));
        let variables = class.and_then(|class| class["spec"]["variables"].as_array());
        let name = [names::VARIABLE, names::INGRESS_VARIABLE][role];
        variables.into_iter().flatten().any(|one| one["name"] == name)
    }

    /// A VIP pool that could serve a role of a Cluster now.
    fn room_for(&self, cluster: &Seen, role: usize) -> Option<&str> {
        let class = self.class(cluster);
        let serves = |pool: &Value| {
            let listed = |name: &str, wanted: &str| {
                let metadata = &pool["metadata"];
                let list = match text(&metadata["labels"][name]) {
                    "true" => text(&metadata["annotations"][name]),
                    label => label,
                };
                list.split(',').any(|one| one.trim() == wanted)
            };
            listed(names::CLASSES, class) && listed(names::ROLES, ROLES[role])
        };
        let open = |pool: &Value| !is_deleting(pool) && !is_paused(pool);
        let mut all = self.vips.pools.iter();
        let found = all.find(|(id, pool)| serves(pool) && open(pool) && self.has_room(id, pool));
        found.map(|((_, key), _)| key.as_str())
    }

    fn has_room(&self, (plural, key): &(String, String), pool: &Value) -> bool {
        let name = key.rsplit('/').next().unwrap_or_default();
        let kind = match plural.as_str() {
            "inclusterippools" => "InClusterIPPool",
            _ => "GlobalInClusterIPPool",
        };
        let of = |address: &&Value| {
            let reference = &address["spec"]["poolRef"];
            reference["kind"] == kind && reference["name"] == name
        };
        let used = self.vips.addresses.values().filter(of).count();
        Ranges::of_pool(&pool["spec"]).total() > i64::try_from(used).unwrap_or(i64::MAX)
    }

    /// What is left of Clusters that are gone.
    fn left_of_clusters(&self) -> Vec<String> {
        let lives = |uid: &str| self.vips.clusters.values().any(|one| one.uid() == uid);
        let mut wrong = Vec::new();
        for (key, claim) in &self.vips.claims {
            if !owners(claim, "Cluster").any(lives) {
                wrong.push(format!("the claim {key} is left over"));
            }
        }
        for (key, address) in &self.vips.addresses {
            let namespace = text(&address["metadata"]["namespace"]);
            let claim = text(&address["spec"]["claimRef"]["name"]);
            if !self.vips.claims.contains_key(&format!("{namespace}/{claim}")) {
                wrong.push(format!("the address {key} is left over"));
            }
        }
        for (key, holder) in &self.vips.holders {
            let uid = text(&holder["metadata"]["annotations"][HELD_FOR]);
            if !lives(uid) || !self.vips.holds {
                wrong.push(format!("the holder {key} is left over"));
            }
        }
        wrong
    }

    /// A condition that differs from the truth: `True` if every wanted VIP is in place, `False` if
    /// one waits.
    fn misreported_vips(&self, cluster: &Seen) -> Option<String> {
        let condition = cluster.object["status"]["conditions"].as_array();
        let mut condition = condition.into_iter().flatten();
        let told = condition.find(|one| one["type"] == names::CONDITION);
        let told = told.map_or("nothing", |one| text(&one["status"]));
        let variable = Shown::Variable.of(&cluster.object);
        if variable.is_some_and(is_by_hand) && cluster.vip(0).is_some() {
            return None;
        }
        let lacks = |role: usize| {
            cluster.own[role].is_none()
                && !self.is_unwanted(cluster, role)
                && cluster.vip(role).is_none()
        };
        // A host that a user wrote beside a bound claim is a conflict.
        if cluster.own[0].is_some() && self.vips.claim(cluster, 0).is_some() {
            return None;
        }
        let claimed = |role: usize| lacks(role) && self.vips.claim(cluster, role).is_some();
        let truth = match () {
            () if claimed(0) || claimed(1) || lacks(0) => "False",
            () if lacks(1) => return None,
            () => "True",
        };
        let name = cluster.name();
        (told != truth).then(|| format!("{name}: the condition says {told} instead of {truth}"))
    }
}
