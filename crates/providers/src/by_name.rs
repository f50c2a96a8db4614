//! Machines of nodes without a provider ID, at providers where such a machine is told by the names of
//! the node and of its zone.

use crate::access::value;
use crate::address::MachineId;
use crate::vendor::{Settings, Vendor, address_vendors};

/// The label of nodes with their zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// How a provider's machines are told by names.
#[derive(Debug)]
pub struct ByName {
    /// The variables with the project of the machines; the first that is set counts.
    pub project: &'static [&'static str],
    /// The machine with the name of a node, in a zone of a project. `None` if the provider can have
    /// no such machine.
    pub machine: fn(project: &str, zone: &str, node: &str) -> Option<MachineId>,
}

/// Tells machines by names, with the settings of this process.
#[derive(Debug, Default)]
pub struct MachineNames(Vec<Naming>);

#[derive(Debug)]
struct Naming {
    vendor: &'static Vendor,
    rule: &'static ByName,
    project: Option<String>,
}

/// What is missing to tell the machine of a node by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// The provider that could have the machine.
    pub vendor: &'static str,
    /// What is missing, for a person.
    pub lacks: String,
}

impl MachineNames {
    /// The providers that tell machines by names.
    pub fn read(settings: &Settings<'_>) -> Self {
        let naming = |vendor: &'static Vendor, rule: &'static ByName| {
            let project = rule.project.iter().find_map(|name| value(settings, name));
            Naming { vendor, rule, project }
        };
        let rules = address_vendors().filter_map(|(vendor, machines)| {
            machines.by_name.as_ref().map(|rule| naming(vendor, rule))
        });
        Self(rules.collect())
    }

    /// The machine of a node without a provider ID, by the node's name and zone.
    ///
    /// # Errors
    /// No provider tells the machine; with what is missing, if a provider could.
    pub fn machine(
        &self,
        node: &str,
        zone: Option<&str>,
    ) -> Result<(&'static Vendor, MachineId), Option<Unnamed>> {
        let mut missing = None;
        for naming in &self.0 {
            match naming.machine(node, zone) {
                Ok(machine) => return Ok((naming.vendor, machine)),
                Err(lacks) => {
                    missing.get_or_insert(Unnamed { vendor: naming.vendor.name, lacks });
                }
            }
        }
        Err(missing)
    }
}

impl Naming {
    fn machine(&self, node: &str, zone: Option<&str>) -> Result<MachineId, String> {
        let variable = self.rule.project.first().copied().unwrap_or_default();
        match (&self.project, zone) {
            (Some(project), Some(zone)) => (self.rule.machine)(project, zone, node)
                .ok_or_else(|| "its name and zone are not those of a machine".to_owned()),
            (None, Some(_)) => Err(format!("{variable} is not set")),
            (Some(_), None) => Err(format!("no label {ZONE_LABEL}")),
            (None, None) => Err(format!("no label {ZONE_LABEL}, and {variable} is not set")),
        }
    }
}
