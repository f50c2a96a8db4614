//! DNS requests of objects.

use std::collections::BTreeSet;

use pontoon_core::model::{
    EmptyPolicy, Family, Finding, Held, ObjectKey, RecordRequest, RecordSource, Site,
};
use pontoon_providers::dns_vendors;

use super::types::{DEFAULT_DNS_PROVIDER, DnsRecordSet, DnsRecordStatus};

/// The TTL of a pool's records without a `ttl` in the spec, in seconds.
const DEFAULT_TTL: u32 = 60;

/// Last labels that make a name look like a full name.
const TOP_LEVELS: &[&str] =
    &["com", "net", "org", "info", "io", "dev", "app", "cloud", "eu", "de", "uk", "us"];

/// The records that `record` requests at `provider`.
pub(in crate::fronts) fn request(
    key: &ObjectKey,
    record: &DnsRecordSet,
    provider: &str,
    source: RecordSource,
) -> Result<RecordRequest, Finding> {
    let finding = |reason, problem: String| Err(Finding { reason, message: problem.into() });
    if !dns_vendors().any(|vendor| vendor.name == provider) {
        let known: Vec<_> = dns_vendors().map(|vendor| vendor.name).collect();
        let known = known.join(", ");
        let problem = format!("\"{provider}\" is not a known DNS provider; known: {known}");
        return finding("UnknownProvider", problem);
    }
    if record.zone.trim().is_empty() {
        return finding("InvalidRecord", "spec.dnsRecordSet.zone is empty".to_owned());
    }
    if record.record_name.trim().is_empty() {
        let problem = "spec.dnsRecordSet.recordName is empty; write @ for the zone itself";
        return finding("InvalidRecord", problem.to_owned());
    }
    let empty = match record.empty_policy.as_str() {
        "" | "Keep" => EmptyPolicy::Keep,
        "Remove" => EmptyPolicy::Remove,
        other => {
            let problem = format!(
                "spec.dnsRecordSet.emptyPolicy \"{other}\" is not known; use Keep or Remove"
            );
            return finding("InvalidRecord", problem);
        }
    };
    Ok(RecordRequest {
        account: provider.into(),
        zone: record.zone.as_str().into(),
        name: record.record_name.as_str().into(),
        ttl: match (record.ttl, &source) {
            (..=0, RecordSource::Pool) => Some(DEFAULT_TTL),
            // FLIPOP left the TTL to the provider, so existing records keep theirs.
            (..=0, RecordSource::Nodes { .. }) => None,
            (ttl, _) => Some(u32::try_from(ttl).unwrap_or(u32::MAX)),
        },
        empty,
        source,
        mark: Some(format!("{}/{} {}", key.namespace, key.name, key.kind).into()),
    })
}

/// A remark for a name that looks like a full name of another zone. As with FLIPOP, the name counts
/// as relative to its zone, and the user may have meant otherwise.
pub(in crate::fronts) fn remark(record: &DnsRecordSet) -> Option<String> {
    let plain = |text: &str| text.trim().trim_end_matches('.').to_ascii_lowercase();
    let (zone, name) = (plain(&record.zone), plain(&record.record_name));
    let (_, top) = name.rsplit_once('.')?;
    let (_, top_of_zone) = zone.rsplit_once('.')?;
    let inside = name == zone || name.ends_with(&format!(".{zone}"));
    let foreign = top == top_of_zone || TOP_LEVELS.contains(&top);
    (foreign && !inside).then(|| {
        format!(
            "recordName {name} does not end in the zone {zone} and is taken as relative to it: \
             {name}.{zone}"
        )
    })
}

/// The DNS provider of a pool's record: by default the pool's own provider, if it hosts DNS.
pub(in crate::fronts) fn provider_for(record: &DnsRecordSet, pools: &str) -> String {
    let own = dns_vendors().map(|vendor| vendor.name).find(|name| *name == pools);
    match record.provider.as_str() {
        "" => own.unwrap_or(DEFAULT_DNS_PROVIDER).to_owned(),
        named => named.to_owned(),
    }
}

/// The full name, as far as the object itself tells. For labels of metrics.
pub(in crate::fronts) fn full_name(record: &DnsRecordSet) -> String {
    let plain = |text: &str| text.trim().trim_end_matches('.').to_ascii_lowercase();
    let (zone, name) = (plain(&record.zone), plain(&record.record_name));
    // The name of a zone contains a dot, an ID does not.
    let is_id = !zone.is_empty() && !zone.contains('.');
    match name.as_str() {
        "" | "@" => zone,
        full if is_id || full == zone || full.ends_with(&format!(".{zone}")) => name,
        relative if zone.is_empty() => relative.to_owned(),
        relative => format!("{relative}.{zone}"),
    }
}

/// The records that an object has according to its status.
pub(in crate::fronts) fn held(status: Option<&DnsRecordStatus>) -> Option<Held> {
    let status = status.filter(|status| !status.name.is_empty())?;
    let family = |kind: &String| match kind.as_str() {
        "A" => Some(Family::V4),
        "AAAA" => Some(Family::V6),
        _ => None,
    };
    let families: BTreeSet<_> = status.types.iter().filter_map(family).collect();
    let site = Site {
        account: status.provider.as_str().into(),
        zone: status.zone.as_str().into(),
        name: status.name.as_str().into(),
    };
    Some(Held { site, families })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(zone: &str, name: &str) -> DnsRecordSet {
        let (zone, record_name) = (zone.to_owned(), name.to_owned());
        DnsRecordSet { zone, record_name, ..DnsRecordSet::default() }
    }

    fn asked(record: &DnsRecordSet) -> Result<RecordRequest, Finding> {
        let key = ObjectKey {
            kind: &crate::fronts::floating_ip_pool::FLOATING_IP_POOL,
            namespace: "n".into(),
            name: "p".into(),
        };
        request(&key, record, "digitalocean", RecordSource::Pool)
    }

    #[test]
    fn a_record_without_a_zone_or_a_name_is_told_what_to_write() {
        for (zone, name, words) in [("", "www", "zone"), ("example.com", " ", "@ for the zone")] {
            let finding = asked(&record(zone, name)).unwrap_err();
            assert_eq!(finding.reason, "InvalidRecord");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
        let odd = DnsRecordSet { empty_policy: "Maybe".into(), ..record("example.com", "www") };
        assert!(asked(&odd).unwrap_err().message.contains("Keep or Remove"));
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let request = asked(&record("example.com", "www")).unwrap();
        assert_eq!((request.ttl, request.empty), (Some(60), EmptyPolicy::Keep));
        let negative = DnsRecordSet { ttl: i64::MIN, ..record("example.com", "www") };
        assert_eq!(asked(&negative).unwrap().ttl, Some(60));
        assert_eq!(provider_for(&record("a", "b"), "digitalocean"), "digitalocean");
        assert_eq!(provider_for(&record("a", "b"), "hetzner"), "digitalocean");
        let named = DnsRecordSet { provider: "cloudflare".into(), ..record("a", "b") };
        assert_eq!(provider_for(&named, "digitalocean"), "cloudflare");
    }

    #[test]
    fn the_name_in_the_metrics_is_full() {
        for (zone, name, full) in [
            ("example.com", "www", "www.example.com"),
            ("example.com", "WWW.Example.com.", "www.example.com"),
            ("example.com", "@", "example.com"),
            ("0123456789abcdef0123456789abcdef", "www.example.com", "www.example.com"),
        ] {
            assert_eq!(full_name(&record(zone, name)), full);
        }
    }

    #[test]
    fn a_name_that_looks_like_another_zones_is_remarked_on() {
        for (zone, name, told) in [
            ("example.com", "x.other.org", true),
            ("example.com", "X.Other.org.", true),
            ("example.systems", "x.other.systems", true),
            ("example.com", "www", false),
            ("example.com", "api.prod", false),
            ("example.com", "www.example.com", false),
            ("example.com", "example.com", false),
            ("0123456789abcdef0123456789abcdef", "x.other.org", false),
        ] {
            assert_eq!(remark(&record(zone, name)).is_some(), told, "{name} in {zone}");
        }
        let words = remark(&record("example.com", "x.other.org")).unwrap();
        assert!(words.ends_with("taken as relative to it: x.other.org.example.com"), "{words}");
    }
}
