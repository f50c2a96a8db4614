//! The API server's checks of a pool before storing.

use kube::core::Reason;
use pontoon_providers::address_vendors;
use schemars::Schema;

use crate::api::cel::{Empty, insert, one_of, unless_already_broken, words};

/// The policy for the reserved addresses of a deleted pool.
pub(super) fn deletion_policy(field: &mut Schema) {
    one_of(field, "deletion policy", &["Retain", "Release"], Empty::Allowed);
}

/// A pool lists addresses or asks for new ones.
pub(super) fn some_address(spec: &mut Schema) {
    let check = "(has({}.ips) && {}.ips.size() > 0) || (has({}.desiredIPs) && {}.desiredIPs > 0)";
    let rule = unless_already_broken(check)
        .message("list at least one address, or set desiredIPs to have new ones reserved")
        .field_path(".ips")
        .reason(Reason::FieldValueRequired);
    insert(spec, rule);
}

/// Reserving addresses needs a region, at providers with regions.
pub(super) fn region_for_new_addresses(spec: &mut Schema) {
    let regional = address_vendors().filter(|(_, machines)| machines.region_required);
    let regional: Vec<_> = regional.map(|(vendor, _)| vendor.name).collect();
    let check = format!(
        "!has({{}}.desiredIPs) || {{}}.desiredIPs <= (has({{}}.ips) ? {{}}.ips.size() : 0) || \
         (has({{}}.region) && {{}}.region != '') || !({{}}.provider in {})",
        words(&regional)
    );
    let rule = unless_already_broken(&check)
        .message("needed to reserve new addresses: desiredIPs is greater than the number of ips")
        .field_path(".region")
        .reason(Reason::FieldValueRequired);
    insert(spec, rule);
}
