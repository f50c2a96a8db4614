//! The contract over the emulator.

use super::*;
use crate::contract::{Bench, addresses};
use crate::vendor::machine_of;

struct OnTheBench;

impl Bench for OnTheBench {
    fn vendor(&self) -> &'static Vendor {
        &VENDOR
    }

    fn tells_budget(&self) -> bool {
        false
    }

    fn is_documented(&self) -> bool {
        false
    }
}

addresses::suite!(OnTheBench);

#[test]
fn the_registry_knows_the_vendor_by_its_line() {
    let (vendor, machine) = machine_of("acme:///zone-1/m-7").unwrap();
    assert_eq!((vendor.name, &*machine.0), ("acme", "m-7"));
}
