//! The contract over the emulator, with the abilities of each vendor that ACME plays, and the table
//! of abilities held against the clients.

use super::*;
use crate::VENDORS;
use crate::contract::script::{Script, with_variables};
use crate::contract::{Bench, addresses};
use crate::vendor::machine_of;

/// ACME under one of its names.
struct OnTheBench(&'static Vendor);

impl Bench for OnTheBench {
    fn vendor(&self) -> &'static Vendor {
        self.0
    }

    fn tells_budget(&self) -> bool {
        false
    }

    fn is_documented(&self) -> bool {
        false
    }
}

static AS_ITSELF: OnTheBench = OnTheBench(&VENDOR);
addresses::suite!(AS_ITSELF);

mod like_aws {
    use super::*;
    static BENCH: OnTheBench = OnTheBench(PROFILES[0]);
    addresses::suite!(BENCH);
}

mod like_azure {
    use super::*;
    static BENCH: OnTheBench = OnTheBench(PROFILES[1]);
    addresses::suite!(BENCH);
}

mod like_hetzner {
    use super::*;
    static BENCH: OnTheBench = OnTheBench(PROFILES[2]);
    addresses::suite!(BENCH);
}

#[test]
fn the_registry_knows_the_vendor_by_its_line() {
    let (vendor, machine) = machine_of("acme:///zone-1/m-7").unwrap();
    assert_eq!((vendor.name, &*machine.0), ("acme", "m-7"));
}

/// The abilities that the client of a vendor states.
fn told(vendor: &Vendor) -> (Capabilities, bool) {
    let open = |settings: &Settings<'_>| (vendor.open)(settings, Script::default().transport());
    let account = with_variables(&[(vendor.credential.variables()[0], "secret")], open).unwrap();
    let region_required = vendor.addresses.as_ref().unwrap().region_required;
    (account.addresses.unwrap().capabilities(), region_required)
}

#[test]
fn the_table_of_abilities_says_what_the_clients_say() {
    let clients = VENDORS.iter().filter(|vendor| vendor.addresses.is_some());
    let mut compared = 0;
    for vendor in clients {
        let row = profiles::PROFILES.iter().chain([&ACME]).find(|row| row.name == vendor.name);
        let row = row.unwrap_or_else(|| panic!("{} is not in the table", vendor.name));
        assert_eq!(told(vendor), (abilities(row), row.region_required), "{}", vendor.name);
        compared += 1;
    }
    assert_eq!(compared, 3, "ACME and two vendors have a client");
}

#[test]
fn a_vendor_without_a_client_is_played_with_its_abilities() {
    let with_client = |row: &&Profile| VENDORS.iter().any(|vendor| vendor.name == row.name);
    let rows: Vec<_> = profiles::PROFILES.iter().filter(|row| !with_client(row)).collect();
    assert_eq!(rows.len(), PROFILES.len());
    for (vendor, row) in PROFILES.iter().zip(rows) {
        assert_eq!(vendor.name, format!("acme-{}", row.name));
        assert_eq!(told(vendor), (abilities(row), row.region_required), "{}", vendor.name);
    }
}
