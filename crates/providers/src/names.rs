//! Names of zones and records, normalised to one form for all providers.
//!
//! A normalised name consists of letters, digits, `-`, `_`, `.` and a leading `*`, and needs no
//! escaping in a URL.

use crate::error::{Error, ErrorKind, Result};
use crate::record::RecordName;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A zone's normalised name: lower case, without a trailing dot.
pub(crate) fn zone_name(zone: &str) -> Result<String> {
    let plain = plain(zone);
    if plain.is_empty() || plain.contains('*') || !is_name(&plain) {
        return Err(rejected(format!("\"{}\" is not the name of a zone", excerpt(zone))));
    }
    Ok(plain)
}

/// The full name for the user's `name` in the zone with the normalised name `zone` ([`zone_name`]).
///
/// | name | in the zone `example.com` |
/// |---|---|
/// | ``, `@`, `example.com` | `example.com` |
/// | `www`, `www.example.com`, `WWW.Example.com.` | `www.example.com` |
/// | `www.example.org` | `www.example.org.example.com` |
/// | `www.example.org.` | refused: outside the zone |
pub(crate) fn full_name(zone: &str, name: &str) -> Result<String> {
    let (plain, absolute) = (plain(name), name.trim().ends_with('.'));
    let inside = |full: &str| {
        full.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let full = match plain.as_str() {
        "" | "@" if !absolute => zone.to_owned(),
        full if inside(full) => full.to_owned(),
        other if absolute => {
            return Err(rejected(format!("{} is not in the zone {zone}", excerpt(other))));
        }
        relative => format!("{relative}.{zone}"),
    };
    checked(full)
}

/// The full name in a zone without a known name. A single label cannot be a full name.
pub(crate) fn full_name_somewhere(name: &str) -> Result<String> {
    let plain = plain(name);
    if plain.contains('.') {
        return checked(plain);
    }
    let words = "the name of the zone is not known, so that the record's name must be written in \
                 full";
    Err(rejected(words.into()))
}

/// Rejects names not produced by `locate`, which could change the path of a request.
pub(crate) fn located(name: &RecordName) -> Result<&RecordName> {
    if is_name(&name.name) && is_name(&name.zone) {
        return Ok(name);
    }
    Err(rejected(format!("\"{}\" was never located", excerpt(&name.name))))
}

fn checked(full: String) -> Result<String> {
    if is_name(&full) {
        return Ok(full);
    }
    Err(rejected(format!(
        "\"{}\" cannot be the name of a record: labels of up to {LONGEST_LABEL} letters, digits, \
         - and _, {LONGEST_NAME} characters in all; other scripts in their xn-- form",
        excerpt(&full)
    )))
}

fn plain(text: &str) -> String {
    let text = text.trim();
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

/// Whether `text` is a normalised full name.
pub(crate) fn is_name(text: &str) -> bool {
    let labels = text.strip_prefix("*.").unwrap_or(text);
    text.len() <= LONGEST_NAME && labels.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let letter = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
    };
    let hyphens = label.starts_with('-') || label.ends_with('-');
    (1..=LONGEST_LABEL).contains(&label.len()) && !hyphens && label.bytes().all(letter)
}

/// The user's text on one line, shortened.
fn excerpt(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn rejected(words: String) -> Error {
    Error::new(ErrorKind::Rejected, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_written_in_many_ways_is_one_name() {
        for (name, full) in [
            ("", "example.com"),
            ("@", "example.com"),
            ("Example.COM.", "example.com"),
            ("www", "www.example.com"),
            (" www ", "www.example.com"),
            ("www.example.com", "www.example.com"),
            ("WWW.Example.com.", "www.example.com"),
            ("a.b", "a.b.example.com"),
            ("*", "*.example.com"),
            ("*.example.com", "*.example.com"),
            ("_srv.a-b", "_srv.a-b.example.com"),
            ("notexample.com", "notexample.com.example.com"),
            ("www.example.org", "www.example.org.example.com"),
        ] {
            assert_eq!(full_name("example.com", name).unwrap(), full, "{name:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_in_the_zone_is_rejected_in_words() {
        let long = "a".repeat(64);
        let longer = "a.".repeat(130);
        for name in [
            "www.example.org.",
            "a..b",
            ".",
            "-a",
            "a-",
            "a b",
            "a/b",
            "ü",
            "a.*",
            "*a",
            &long,
            &longer,
        ] {
            let error = full_name("example.com", name).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Rejected, "{name}");
            assert!(error.message.len() < 300, "{error}");
        }
        assert_eq!(
            full_name("example.com", "www.example.org.").unwrap_err().message,
            "www.example.org is not in the zone example.com"
        );
    }

    #[test]
    fn a_zone_has_a_plain_name() {
        assert_eq!(zone_name(" Example.com. ").unwrap(), "example.com");
        for zone in ["", ".", "*.example.com", "example..com", "example.com/..", "example.com?a"] {
            assert_eq!(zone_name(zone).unwrap_err().kind, ErrorKind::Rejected, "{zone}");
        }
    }

    #[test]
    fn without_a_zone_to_go_by_only_a_full_name_will_do() {
        assert_eq!(full_name_somewhere("www.Example.com").unwrap(), "www.example.com");
        for name in ["www", "@", "", "www."] {
            assert_eq!(full_name_somewhere(name).unwrap_err().kind, ErrorKind::Rejected);
        }
    }

    #[test]
    fn only_what_was_located_reaches_a_url() {
        let name = |zone: &str, name: &str| RecordName { zone: zone.into(), name: name.into() };
        located(&name("example.com", "www.example.com")).unwrap();
        for astray in [name("example.com/..", "a.b"), name("example.com", "a&type=MX")] {
            assert_eq!(located(&astray).unwrap_err().kind, ErrorKind::Rejected);
        }
    }
}
