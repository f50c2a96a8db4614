//! The API server's checks of lists of addresses and of their provider.

use kube::core::{Message, Rule};
use pontoon_providers::address_vendors;
use schemars::Schema;

use crate::api::cel::{Empty, insert, one_of, quoting_self};

/// A provider that this release knows.
pub(crate) fn address_provider(field: &mut Schema) {
    let known: Vec<_> = address_vendors().map(|(vendor, _)| vendor.name).collect();
    one_of(field, "provider", &known, Empty::Refused);
}

/// Every entry of the list is an address.
pub(crate) fn addresses(list: &mut Schema) {
    let check = format!("self.matches(r'{}') || self.matches(r'{}')", ipv4(), ipv6());
    let rule = Rule::new(check).message(quoting_self("is not an IPv4 or IPv6 address"));
    let items = list.get_mut("items").map(<&mut Schema>::try_from);
    if let Some(Ok(items)) = items {
        insert(items, rule);
    }
}

/// No address is listed twice.
pub(crate) fn no_duplicates(list: &mut Schema) {
    let repeated = "self.filter(x, !self.exists_one(y, y == x))[0]";
    let message = format!(r#"'"' + {repeated} + '" is listed more than once'"#);
    let rule = Rule::new("self.all(x, self.exists_one(y, y == x))");
    insert(list, rule.message(Message::Expression(message)));
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
