//! The API server's checks of a pool before storing.

use kube::core::{Message, Reason, Rule};
use pontoon_providers::address_vendors;
use schemars::Schema;

use crate::api::cel::{Empty, insert, one_of, quoting_self, unless_already_broken, words};

/// `spec.provider` of a pool: a provider that this release knows.
pub(super) fn address_provider(field: &mut Schema) {
    let known: Vec<_> = address_vendors().map(|(vendor, _)| vendor.name).collect();
    one_of(field, "provider", &known, Empty::Refused);
}

/// The policy for the reserved addresses of a deleted pool.
pub(super) fn deletion_policy(field: &mut Schema) {
    one_of(field, "deletion policy", &["Retain", "Release"], Empty::Allowed);
}

/// Every entry of the list is an address.
pub(super) fn addresses(list: &mut Schema) {
    let check = format!("self.matches(r'{}') || self.matches(r'{}')", ipv4(), ipv6());
    let rule = Rule::new(check).message(quoting_self("is not an IPv4 or IPv6 address"));
    let items = list.get_mut("items").map(<&mut Schema>::try_from);
    if let Some(Ok(items)) = items {
        insert(items, rule);
    }
}

/// No address is listed twice.
pub(super) fn no_duplicates(list: &mut Schema) {
    let repeated = "self.filter(x, !self.exists_one(y, y == x))[0]";
    let message = format!(r#"'"' + {repeated} + '" is listed more than once'"#);
    let rule = Rule::new("self.all(x, self.exists_one(y, y == x))");
    insert(list, rule.message(Message::Expression(message)));
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

/// Four numbers up to 255, without leading zeros (which some programs read as octal).
fn ipv4() -> String {
    let number = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    format!(r"^({number}\.){{3}}{number}$")
}

/// Eight groups, or fewer with a `::` in place of the missing groups.
fn ipv6() -> String {
    let group = "[0-9a-fA-F]{1,4}";
    let mut forms = vec![
        format!("({group}:){{7}}{group}"),
        format!("({group}:){{1,7}}:"),
        format!(":(:{group}){{1,7}}"),
        "::".to_owned(),
    ];
    forms.extend((1..=6).map(|before| {
        let after = 7 - before;
        format!("({group}:){{{before}}}(:{group}){{1,{after}}}")
    }));
    format!("^({})$", forms.join("|"))
}
