//! Filters and order of a listing of records. Unknown filters are refused, not ignored.

use std::cmp::Ordering;

use super::envelope::Refusal;
use crate::call::Call;
use crate::zone::{Record, Zone};

/// The records that match the query, in the requested order.
pub(super) fn chosen<'a>(zone: &'a Zone, call: &Call) -> Result<Vec<&'a Record>, Refusal> {
    let mut filters = Vec::new();
    for (name, value) in &call.query {
        match name.as_str() {
            "page" | "per_page" | "match" | "order" | "direction" | "tag_match" => {}
            _ => filters.push(Filter::new(name, value).ok_or_else(|| Refusal::not_emulated(call))?),
        }
    }
    let any = call.parameter("match") == Some("any") && !filters.is_empty();
    let mut shown: Vec<&Record> = zone
        .records
        .values()
        .filter(|record| {
            let mut verdicts = filters.iter().map(|filter| filter.fits(zone, record));
            if any { verdicts.any(|fits| fits) } else { verdicts.all(|fits| fits) }
        })
        .collect();
    let order = call.parameter("order").unwrap_or("type");
    shown.sort_by(|a, b| by(order, a, b));
    if call.parameter("direction") == Some("desc") {
        shown.reverse();
    }
    Ok(shown)
}

fn by(order: &str, a: &Record, b: &Record) -> Ordering {
    match order {
        "name" => a.name.cmp(&b.name),
        "content" => a.data.cmp(&b.data),
        "ttl" => a.ttl.cmp(&b.ttl),
        "proxied" => a.proxied.cmp(&b.proxied),
        _ => a.kind.cmp(&b.kind),
    }
}

/// The compared field.
enum Text {
    Name,
    Content,
    Comment,
}

/// The comparison, ignoring case.
enum How {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
}

/// A condition on a record.
enum Filter {
    Text(Text, How, String),
    Kind(String),
    Proxied(bool),
    Commented(bool),
    Tag(String),
}

impl Filter {
    fn new(name: &str, value: &str) -> Option<Self> {
        let (field, how) = name.split_once('.').unwrap_or((name, "exact"));
        let text = match (field, how) {
            ("type", "exact") => return Some(Self::Kind(value.to_owned())),
            ("proxied", "exact") => return Some(Self::Proxied(value == "true")),
            ("comment", "present") => return Some(Self::Commented(true)),
            ("comment", "absent") => return Some(Self::Commented(false)),
            ("tag", "exact") => return Some(Self::Tag(value.to_ascii_lowercase())),
            ("name", _) => Text::Name,
            ("content", _) => Text::Content,
            ("comment", _) => Text::Comment,
            _ => return None,
        };
        let how = match how {
            "exact" => How::Exact,
            "contains" => How::Contains,
            "startswith" => How::StartsWith,
            "endswith" => How::EndsWith,
            _ => return None,
        };
        Some(Self::Text(text, how, value.to_ascii_lowercase()))
    }

    fn fits(&self, zone: &Zone, record: &Record) -> bool {
        match self {
            Self::Kind(kind) => record.kind.eq_ignore_ascii_case(kind),
            Self::Proxied(proxied) => record.proxied == *proxied,
            Self::Commented(present) => record.comment.is_some() == *present,
            Self::Tag(tag) => record.tags.iter().any(|own| own.eq_ignore_ascii_case(tag)),
            Self::Text(text, how, wanted) => {
                let given = match text {
                    Text::Name => zone.full_name(&record.name),
                    Text::Content => record.data.clone(),
                    Text::Comment => record.comment.clone().unwrap_or_default(),
                };
                let given = given.to_ascii_lowercase();
                match how {
                    How::Exact => given == *wanted,
                    How::Contains => given.contains(wanted),
                    How::StartsWith => given.starts_with(wanted),
                    How::EndsWith => given.ends_with(wanted),
                }
            }
        }
    }
}
