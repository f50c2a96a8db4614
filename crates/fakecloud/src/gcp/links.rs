//! Names, numbers and links of resources. Links begin with the vendor's own host, wherever the
//! emulator listens.

use std::net::{IpAddr, Ipv4Addr};

use fakehttp::Clock;
use tokio::time::Instant;

use crate::store::{Address, MachineId};

/// The project of provider IDs. Calls may name any project: all see the same resources.
pub(super) const DEFAULT_PROJECT: &str = "test-project";

/// The region of machines and addresses whose region is none of the vendor's.
pub(super) const DEFAULT_REGION: &str = "us-central1";

const BASE: &str = "https://www.googleapis.com/compute/v1";

/// The numbers of resources, as large as the vendor's, to catch clients that read them as floating
/// point.
const INSTANCES: u64 = 4_200_000_000_000_000_000;
const ADDRESSES: u64 = 6_300_000_000_000_000_000;

/// A project by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Project<'a>(pub(super) &'a str);

impl Project<'_> {
    /// `projects/p/zones/z`, of `zones/z`.
    pub(super) fn path(self, rest: &str) -> String {
        format!("projects/{}/{rest}", self.0)
    }

    /// The link of a path below the project.
    pub(super) fn link(self, rest: &str) -> String {
        format!("{BASE}/{}", self.path(rest))
    }
}

/// Whether a name has the form of the vendor's regions: `us-central1`.
pub(super) fn is_region(name: &str) -> bool {
    let Some((continent, place)) = name.split_once('-') else { return false };
    let letters = place.trim_end_matches(|c: char| c.is_ascii_digit());
    let all_letters = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
    all_letters(continent) && all_letters(letters) && letters.len() < place.len()
}

/// The vendor's region for a region or zone of the store.
pub(super) fn region_in(site: &str) -> &str {
    match region_of_zone(site) {
        Some(region) => region,
        None if is_region(site) => site,
        None => DEFAULT_REGION,
    }
}

/// The zone of the machines in a region or zone of the store.
pub(super) fn zone_in(site: &str) -> String {
    match region_of_zone(site) {
        Some(_) => site.to_owned(),
        None => format!("{}-b", region_in(site)),
    }
}

/// The region of a zone, if there can be such a zone.
pub(super) fn region_of_zone(zone: &str) -> Option<&str> {
    let (region, letter) = zone.rsplit_once('-')?;
    (is_region(region) && matches!(letter.as_bytes(), [b'a'..=b'f'])).then_some(region)
}

/// The name of a machine's instance.
pub(super) fn instance_name(machine: MachineId) -> String {
    format!("m-{machine}")
}

/// The machine of an instance, by name or number.
pub(super) fn number(instance: &str) -> Option<MachineId> {
    match instance.strip_prefix("m-") {
        Some(number) => number.parse().ok(),
        None => instance.parse::<u64>().ok()?.checked_sub(INSTANCES),
    }
}

/// The number of an instance.
pub(super) fn instance_id(machine: MachineId) -> String {
    INSTANCES.saturating_add(machine).to_string()
}

/// `zones/z/instances/i` of a machine.
pub(super) fn instance_path(region: &str, machine: MachineId) -> String {
    format!("zones/{}/instances/{}", zone_in(region), instance_name(machine))
}

/// The name of an address. Without a name of the user's, it tells the address.
pub(super) fn address_name(address: &Address) -> String {
    address.name.clone().unwrap_or_else(|| usual_name(address.ip))
}

/// The name of an address without a name of the user's.
pub(super) fn usual_name(ip: IpAddr) -> String {
    format!("ip-{}", ip.to_string().replace(['.', ':'], "-"))
}

/// The address that its name tells.
pub(super) fn ip_of_name(name: &str) -> Option<IpAddr> {
    let ip: Ipv4Addr = name.strip_prefix("ip-")?.replace('-', ".").parse().ok()?;
    Some(IpAddr::V4(ip))
}

/// The number of an address.
pub(super) fn address_id(ip: IpAddr) -> String {
    let number = match ip {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        IpAddr::V6(ip) => (u128::from(ip) & 0xffff_ffff_ffff) as u64,
    };
    (ADDRESSES + number).to_string()
}

/// A time in the vendor's format.
pub(super) fn stamp(clock: Clock, at: Instant) -> String {
    clock.wall(at).strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_and_zones_are_told_from_other_names() {
        for region in ["us-central1", "europe-west12", "northamerica-northeast1"] {
            assert!(is_region(region), "{region}");
            let zone = zone_in(region);
            assert_eq!(region_of_zone(&zone), Some(region));
        }
        for other in ["nyc3", "us-central", "us-1", "-central1", "us-central1-b", ""] {
            assert!(!is_region(other), "{other}");
        }
        for other in ["us-central1", "us-central1-z", "us-central1-bb", "nyc3-b"] {
            assert_eq!(region_of_zone(other), None, "{other}");
        }
        assert_eq!(zone_in("nyc3"), "us-central1-b");
        assert_eq!(
            (region_in("us-west1-a"), zone_in("us-west1-a").as_str()),
            ("us-west1", "us-west1-a")
        );
    }

    #[test]
    fn names_and_numbers_lead_back_to_machines_and_addresses() {
        assert_eq!(number(&instance_name(7)), Some(7));
        assert_eq!(number(&instance_id(7)), Some(7));
        assert_eq!((number("m-x"), number("7"), number("node-7")), (None, None, None));
        let ip: IpAddr = "198.51.100.7".parse().unwrap();
        assert_eq!(ip_of_name(&usual_name(ip)), Some(ip));
        assert_eq!(ip_of_name("web"), None);
    }
}
