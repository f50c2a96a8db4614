//! The API server's checks of an object before storing, in CEL, with messages for people.
//!
//! FLIPOP's definitions checked next to nothing, so stored objects may break any rule here, and
//! must stay updatable. Kubernetes (1.30 and later) skips a rule on a single field while the field
//! is unchanged. A rule across fields runs on every edit of the spec, so such rules let pass a spec
//! that was already broken (see [`unless_already_broken`]).
//!
//! The API server refuses rules that could become expensive, hence the limits on lengths. Rules may
//! only use the CEL functions of the previous Kubernetes release: `isIP()` would make 1.31 the
//! minimum, so addresses are checked by a pattern.
//!
//! Enums are not used: the API server stops at the first wrong enum, and adds a second line of its
//! own.

use kube::core::{Message, Reason, Rule, validate};
use pontoon_providers::{address_vendors, dns_vendors};
use schemars::Schema;

use super::dns::DEFAULT_DNS_PROVIDER;
use super::names::IPV4_ANNOTATION;

/// `spec.provider` of a pool: a provider that this release knows.
pub(super) fn address_provider(field: &mut Schema) {
    let known: Vec<_> = address_vendors().map(|(vendor, _)| vendor.name).collect();
    one_of(field, "provider", &known, Empty::Refused);
}

/// A DNS provider that this release knows, or empty. The description begins with their names.
pub(super) fn dns_provider(field: &mut Schema) {
    known_dns_provider(field, "");
}

/// The same, where an empty value always means the default.
pub(super) fn dns_provider_or_default(field: &mut Schema) {
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

/// The type of node address to publish.
pub(super) fn address_type(field: &mut Schema) {
    one_of(field, "address type", &["ExternalIP", "InternalIP", IPV4_ANNOTATION], Empty::Allowed);
}

/// The policy for the reserved addresses of a deleted pool.
pub(super) fn deletion_policy(field: &mut Schema) {
    one_of(field, "deletion policy", &["Retain", "Release"], Empty::Allowed);
}

/// A toleration's operator.
pub(super) fn toleration_operator(field: &mut Schema) {
    one_of(field, "operator", &["Exists", "Equal"], Empty::Allowed);
}

/// A toleration's effect.
pub(super) fn toleration_effect(field: &mut Schema) {
    one_of(field, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], Empty::Allowed);
}

/// A label selector, as far as a pattern can tell. The operator parses it in full.
pub(super) fn selector(field: &mut Schema) {
    // A trailing comma makes all requirements look alike.
    let check =
        format!(r"self.matches(r'^\s*$') || (self + ',').matches(r'^({},)+$')", requirement());
    let message = "is not a label selector such as app=web,tier!=db,zone in (a,b),!old";
    insert(field, Rule::new(check).message(quoting_self(message)));
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

/// A record set names a record.
pub(super) fn record_given(spec: &mut Schema) {
    let rule = unless_already_broken("has({}.dnsRecordSet)")
        .message("say which record shall list the nodes: zone and recordName")
        .field_path(".dnsRecordSet")
        .reason(Reason::FieldValueRequired);
    insert(spec, rule);
}

/// Whether a field may be set to the empty text.
enum Empty {
    Allowed,
    Refused,
}

/// Adds a rule that the text is in `known`. The message lists the known texts.
fn one_of(field: &mut Schema, what: &str, known: &[&str], empty: Empty) {
    let accepted: Vec<_> = match empty {
        Empty::Allowed => [""].iter().chain(known).copied().collect(),
        Empty::Refused => known.to_vec(),
    };
    let rule = Rule::new(format!("self in {}", words(&accepted)));
    let message = format!("is not a known {what}; known: {}", known.join(", "));
    insert(field, rule.message(quoting_self(&message)));
}

/// A message that begins with the refused text.
fn quoting_self(message: &str) -> Message {
    Message::Expression(format!(r#"'"' + self + '" {message}'"#))
}

/// A rule that exempts objects that broke it before. `{}` in the check stands for the value.
fn unless_already_broken(check: &str) -> Rule {
    let now = check.replace("{}", "self");
    let before = check.replace("{}", "oldSelf.value()");
    Rule::new(format!("{now} || (oldSelf.hasValue() && !({before}))")).optional_old_self(true)
}

/// Adds a rule to a schema.
fn insert(schema: &mut Schema, rule: Rule) {
    // `validate` fails only if a rule cannot be written as JSON; a rule is a few texts.
    let _ = validate(schema, rule);
}

/// A CEL list of texts.
fn words(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("[{}]", quoted.join(", "))
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

/// One requirement of a label selector: `key`, `!key`, `key=value`, `key==value`,
/// `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key>1`, `key<1`.
fn requirement() -> String {
    let name = "[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?";
    let key = format!("([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?{name}");
    let value = format!(r"\s*({name})?\s*");
    let comparison = format!(r"\s*(==?|!=){value}|\s*[<>]\s*-?[0-9]+\s*");
    let set = format!(r"\s+(in|notin)\s*\({value}(,{value})*\)\s*");
    format!(r"\s*({key}({comparison}|{set}|\s*)|!\s*{key}\s*)")
}
