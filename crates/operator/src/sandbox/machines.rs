//! Where the machines of the sandbox are: at the providers, in the places and with the labels that
//! the user's objects ask for, or else at the provider of the scene.

use std::collections::BTreeMap;

use fakecloud::Place;
use serde_json::Value;

use super::allocations;
use super::asked::Asked;

/// The machines at one provider.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The provider.
    pub provider: String,
    /// The places, in turn. Never empty.
    places: Vec<Place>,
    /// Labels of every node beside those of its place.
    labels: BTreeMap<String, String>,
}

/// The machines at every provider. Never empty.
#[derive(Clone, Debug)]
pub struct Machines {
    grounds: Vec<Ground>,
}

impl Machines {
    /// Machines for the user's objects. A provider without machines does not count.
    pub fn wanted(usual: &str, objects: &[Value]) -> Self {
        let mut machines = Self { grounds: Vec::new() };
        for object in objects {
            let Some(asked) = Asked::of(object) else { continue };
            let (zones, labels) = allocations::wishes(object);
            machines.add(&asked.provider, asked.region.as_deref(), &zones, labels);
        }
        if machines.grounds.is_empty() {
            machines.add(usual, None, &[], BTreeMap::new());
        }
        machines
    }

    fn add(
        &mut self,
        provider: &str,
        region: Option<&str>,
        zones: &[String],
        labels: BTreeMap<String, String>,
    ) {
        let places = fakecloud::places(provider, region, zones);
        match self.grounds.iter_mut().find(|ground| ground.provider == provider) {
            Some(ground) => {
                let new = places.into_iter().filter(|place| !ground.places.contains(place));
                let new: Vec<_> = new.collect();
                ground.places.extend(new);
                for (key, value) in labels {
                    ground.labels.entry(key).or_insert(value);
                }
            }
            None if places.is_empty() => {}
            None => {
                self.grounds.push(Ground { provider: provider.to_owned(), places, labels });
            }
        }
    }

    /// The machines at each provider.
    pub fn grounds(&self) -> impl Iterator<Item = &Ground> {
        self.grounds.iter()
    }

    /// The region for an address of a provider, unless its object names one.
    pub fn region(&self, provider: &str) -> String {
        let ground = self.grounds.iter().find(|ground| ground.provider == provider);
        let place = ground.and_then(|ground| ground.places.first()).cloned();
        let usual = || fakecloud::places(provider, None, &[]).into_iter().next();
        place.or_else(usual).map(|place| place.region).unwrap_or_default()
    }
}

impl Ground {
    /// The place and the labels of a machine with this number.
    pub fn spot(&self, number: u64) -> (String, BTreeMap<String, String>) {
        let count = u64::try_from(self.places.len()).unwrap_or(1).max(1);
        let index = usize::try_from((number.max(1) - 1) % count).unwrap_or_default();
        let Some(place) = self.places.get(index) else { return Default::default() };
        let mut labels = self.labels.clone();
        labels.extend(place.labels.clone());
        (place.site.clone(), labels)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn allocation(provider: &str, spec: Value) -> Value {
        let mut spec = spec;
        spec["reservedIPs"] = json!(["192.0.2.1"]);
        spec["cloud"]["provider"] = json!(provider);
        json!({
            "apiVersion": "netinfra.darkbrains.com/v1alpha1", "kind": "NetIPAllocation",
            "metadata": {"name": "a"}, "spec": spec,
        })
    }

    #[test]
    fn machines_are_where_the_objects_ask_for_addresses() {
        let cloud = json!({"region": "us-west1", "zones": ["us-west1-a", "us-west1-b"]});
        let spec = json!({"cloud": cloud, "nodeSelector": {"role": "edge"}});
        let objects = [allocation("gcp", spec), allocation("digitalocean", json!({}))];
        let machines = Machines::wanted("digitalocean", &objects);
        let grounds: Vec<_> = machines.grounds().collect();
        assert_eq!(grounds.len(), 2);
        let sites: Vec<_> = (1..=3).map(|number| grounds[0].spot(number).0).collect();
        assert_eq!(sites, ["us-west1-a", "us-west1-b", "us-west1-a"]);
        assert_eq!(grounds[0].spot(1).1["role"], "edge");
        assert_eq!(machines.region("gcp"), "us-west1");
        assert!(!grounds[1].spot(1).1.contains_key("role"), "of another provider");
    }

    #[test]
    fn without_objects_that_ask_for_addresses_machines_are_at_the_scenes_provider() {
        let machines = Machines::wanted("gcp", &[json!({"kind": "Node"})]);
        let provider: Vec<_> = machines.grounds().map(|ground| &ground.provider).collect();
        assert_eq!(provider, ["gcp"]);
        // Of a provider without nodes here, as for an object that is applied later.
        assert_eq!(machines.region("digitalocean"), "nyc3");
    }
}
