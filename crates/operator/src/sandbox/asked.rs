//! What an object of one of our kinds asks for, as its front decodes it.

use std::net::IpAddr;

use pontoon_core::model::Kind;
use serde_json::Value;

use crate::fronts;
use crate::observe::schema::Schema;

/// The addresses that an object asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The provider that the object names.
    pub provider: String,
    /// The addresses that the object lists.
    pub listed: Vec<IpAddr>,
    /// The region that the object names.
    pub region: Option<String>,
}

impl Asked {
    /// What an object asks for; `None` for an object that asks for no addresses.
    pub fn of(object: &Value) -> Option<Self> {
        let is_its = |kind: &Kind| {
            object["apiVersion"] == format!("{}/{}", kind.group, kind.version)
                && object["kind"] == kind.name
        };
        let front = fronts::FRONTS.iter().find(|front| is_its(front.kind()))?;
        let object = serde_json::from_value(object.clone()).ok()?;
        let observed = front.decode(object, Schema::Current)?;
        let pool = observed.addresses?;
        let provider = observed.labels.provider;
        Some(match pool.request {
            Ok(request) => Self {
                provider,
                listed: request.listed,
                region: request.region.map(|region| region.to_string()),
            },
            // The API server will refuse the object, or the operator will say what is wrong.
            Err(_) => Self { provider, listed: pool.named.unwrap_or_default(), region: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_of_any_kind_tells_the_addresses_that_it_lists() {
        let asked = |group: &str, kind: &str, spec: Value| {
            let version = format!("{group}/v1alpha1");
            let metadata = json!({"name": "x", "namespace": "y"});
            let object = json!({
                "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec,
            });
            Asked::of(&object).map(|asked| (asked.provider, asked.listed.len(), asked.region))
        };
        let (group, provider) = ("flipop.digitalocean.com", "digitalocean");
        let pool = json!({"provider": provider, "region": "sfo3", "ips": ["192.0.2.1"]});
        let found = Some((provider.to_owned(), 1, Some("sfo3".to_owned())));
        assert_eq!(asked(group, "FloatingIPPool", pool.clone()), found);
        let cloud = json!({"provider": "gcp"});
        let allocation = json!({"reservedIPs": ["192.0.2.1", "192.0.2.2"], "cloud": cloud});
        let found = Some(("gcp".to_owned(), 2, None));
        assert_eq!(asked("netinfra.darkbrains.com", "NetIPAllocation", allocation), found);
        assert_eq!(asked("example.com", "FloatingIPPool", pool), None);
        let set = json!({"dnsRecordSet": {"zone": "example.com", "recordName": "a"}});
        assert_eq!(asked(group, "NodeDNSRecordSet", set), None);
    }
}
