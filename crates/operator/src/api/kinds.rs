//! The kinds that we serve, and how their objects are reached.

use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};
use pontoon_core::model::{Kind, Scope, Subject};

use super::{GROUP, VERSION};

/// FLIPOP's pools: addresses, and a name for them.
pub static FLOATING_IP_POOL: Kind = Kind {
    group: GROUP,
    version: VERSION,
    name: "FloatingIPPool",
    plural: "floatingippools",
    aliases: &["fippool"],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Addresses, Subject::Records],
};

/// FLIPOP's record sets: names that list nodes.
pub static NODE_DNS_RECORD_SET: Kind = Kind {
    group: GROUP,
    version: VERSION,
    name: "NodeDNSRecordSet",
    plural: "nodednsrecordsets",
    aliases: &["nodedns"],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Records],
};

/// Every kind.
pub const KINDS: [&Kind; 2] = [&FLOATING_IP_POOL, &NODE_DNS_RECORD_SET];

/// The objects of a kind, in the namespace if the kind has namespaces.
pub fn objects(client: Client, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
    let resource = resource(kind);
    match kind.scope {
        Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
        Scope::Cluster => Api::all_with(client, &resource),
    }
}

/// The objects of a kind in the whole cluster.
pub fn all_objects(client: Client, kind: &Kind) -> Api<DynamicObject> {
    Api::all_with(client, &resource(kind))
}

fn resource(kind: &Kind) -> ApiResource {
    ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: kind.api_version(),
        kind: kind.name.to_owned(),
        plural: kind.plural.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_as_its_definition_names_it() {
        for definition in crate::api::crds() {
            let spec = &definition.spec;
            let kind = KINDS.into_iter().find(|kind| kind.name == spec.names.kind).unwrap();
            assert_eq!(kind.definition(), definition.metadata.name.unwrap());
            assert_eq!(kind.plural, spec.names.plural);
            assert_eq!(kind.group, spec.group);
            assert_eq!(kind.version, spec.versions[0].name);
            assert_eq!(kind.aliases, spec.names.short_names.clone().unwrap_or_default());
            assert_eq!(kind.scope == Scope::Namespaced, spec.scope == "Namespaced");
        }
    }
}
