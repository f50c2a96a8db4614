//! Completed changes are not repeated: not by the next plan, nor later, nor by another process.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::action::{Action, AddressAction};
use proptest::prelude::*;

use super::super::fixture::*;
use super::small::small;

/// Every change occurs only once.
fn assert_once(done: &[Action]) {
    let mut seen: Vec<&Action> = vec![];
    let mut moved: BTreeSet<IpAddr> = BTreeSet::new();
    for action in done.iter().filter(|action| is_change(action)) {
        assert!(!seen.contains(&action), "again: {action:?}");
        seen.push(action);
        if let Action::Address(AddressAction::Assign { ip, .. }) = action {
            assert!(moved.insert(*ip), "{ip} is moved twice");
        }
    }
}

fn changes(mut done: Vec<Action>) -> Vec<Action> {
    done.retain(is_change);
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_a_plan_asked_for_and_got_is_never_asked_for_again(
        small in small(),
        paced in any::<bool>(),
    ) {
        let mut scene = small.scene();
        if paced {
            scene.change_pool(&small.pools[0].key.name, |pool| pool.cooling_off(20));
        }
        // Longer than every cool-off.
        assert_once(&scene.run(seconds(150)));
        prop_assert_eq!(changes(scene.run(seconds(130))), []);
        scene.restart(seconds(13));
        prop_assert_eq!(changes(scene.run(seconds(130))), []);
    }
}
