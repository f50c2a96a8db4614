//! The API server's checks of a DNS record before storing.

use kube::core::Reason;
use pontoon_providers::dns_vendors;
use schemars::Schema;

use super::types::DEFAULT_DNS_PROVIDER;
use crate::api::cel::{Empty, insert, one_of, unless_already_broken};

/// A DNS provider that this release knows, or empty. The description begins with their names.
pub(super) fn dns_provider(field: &mut Schema) {
    known_dns_provider(field, "");
}

/// As [`dns_provider`], where an empty value always means the default.
pub(in crate::fronts) fn dns_provider_or_default(field: &mut Schema) {
    known_dns_provider(field, DEFAULT_DNS_PROVIDER);
}

fn known_dns_provider(field: &mut Schema, default: &str) {
    let known: Vec<_> = dns_vendors().map(|vendor| vendor.name).collect();
    let listed = known.iter().map(|name| match *name == default {
        true => format!("`{name}` (the default)"),
        false => format!("`{name}`"),
    });
    let listed: Vec<_> = listed.collect();
    let listed = match listed.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => listed.concat(),
    };
    let words = field.get("description").and_then(|words| words.as_str()).unwrap_or_default();
    let words = format!("DNS provider: {listed}. {words}");
    field.insert("description".to_owned(), words.into());
    one_of(field, "DNS provider", &known, Empty::Allowed);
}

/// The policy for a record with no address to list.
pub(super) fn empty_policy(field: &mut Schema) {
    one_of(field, "empty policy", &["Keep", "Remove"], Empty::Allowed);
}

/// A record names its zone.
pub(super) fn zone_given(record: &mut Schema) {
    let rule = unless_already_broken("has({}.zone) && {}.zone != ''")
        .message("name the zone that holds the record, such as example.com")
        .field_path(".zone")
        .reason(Reason::FieldValueRequired);
    insert(record, rule);
}

/// A record has a name.
pub(super) fn record_name_given(record: &mut Schema) {
    let rule = unless_already_broken("has({}.recordName) && {}.recordName != ''")
        .message("name the record, relative to its zone; write @ for the zone itself")
        .field_path(".recordName")
        .reason(Reason::FieldValueRequired);
    insert(record, rule);
}
