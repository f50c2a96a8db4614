//! Go's regular expressions, and the text formats of schemas.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::names;

/// Translates a Go pattern to Rust: Go's classes are ASCII only.
pub(super) fn go_regex(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            translated.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => translated.push_str("[0-9]"),
            Some('D') => translated.push_str("[^0-9]"),
            Some('s') => translated.push_str(r"[\t\n\f\r ]"),
            Some('S') => translated.push_str(r"[^\t\n\f\r ]"),
            Some('w') => translated.push_str("[0-9A-Za-z_]"),
            Some('W') => translated.push_str("[^0-9A-Za-z_]"),
            Some(other) => translated.extend(['\\', other]),
            None => translated.push('\\'),
        }
    }
    translated
}

/// Whether a text has a JSON schema format. Unchecked and unknown formats accept any text.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => is_ip(text) && text.contains('.'),
        "ipv6" => is_ip(text) && text.contains(':'),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => matches(&UUID, text),
        "uuid3" => matches(&UUID3, text),
        "uuid4" => matches(&UUID4, text),
        "uuid5" => matches(&UUID5, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "ssn" => matches(&SSN, text),
        "byte" => matches(&BASE64, text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "k8sshortname" => names::dns1123_label(text).is_empty(),
        "k8slongname" => names::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

/// `None` if a pattern of this file is invalid; the tests would notice.
type Compiled = LazyLock<Option<Regex>>;

static UUID: Compiled = LazyLock::new(|| {
    Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok()
});
static UUID3: Compiled = LazyLock::new(|| {
    Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok()
});
static UUID4: Compiled = LazyLock::new(|| {
    Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$").ok()
});
static UUID5: Compiled = LazyLock::new(|| {
    Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$").ok()
});
static HEX_COLOR: Compiled =
    LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static SSN: Compiled = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static BASE64: Compiled = LazyLock::new(|| {
    let groups = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    Regex::new(groups).ok()
});
static HOSTNAME: Compiled = LazyLock::new(|| {
    let pattern = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    Regex::new(pattern).ok()
});
static TIME: Compiled = LazyLock::new(|| {
    Regex::new(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok()
});
static DURATION: Compiled = LazyLock::new(|| {
    Regex::new(r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$").ok()
});
static LONG_DURATION: Compiled = LazyLock::new(|| {
    let units = "ns|nano|us|µs|micro|ms|milli|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week";
    Regex::new(&format!("(?i)[0-9]+ *({units})s? *")).ok()
});

fn matches(pattern: &Compiled, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether Go parses the text as an IP address. Leading zeros are decimal.
fn is_ip(text: &str) -> bool {
    let parsed = text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok();
    parsed || without_leading_zeros(text).is_some_and(|text| text.parse::<Ipv4Addr>().is_ok())
}

fn without_leading_zeros(text: &str) -> Option<String> {
    let numbers: Result<Vec<_>, _> = text.split('.').map(str::parse::<u8>).collect();
    let digits_only = text.chars().all(|character| character.is_ascii_digit() || character == '.');
    let numbers = numbers.ok().filter(|_| digits_only)?;
    Some(numbers.iter().map(u8::to_string).collect::<Vec<_>>().join("."))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let max = if address.contains(':') { 128 } else { 32 };
    let digits = !length.is_empty() && length.chars().all(|digit| digit.is_ascii_digit());
    is_ip(address) && digits && length.parse::<u32>().is_ok_and(|length| length <= max)
}

fn is_mac(text: &str) -> bool {
    let separator = if text.contains('-') { '-' } else { ':' };
    let parts: Vec<_> = text.split(separator).collect();
    let hex = |part: &&str| part.len() == 2 && part.chars().all(|digit| digit.is_ascii_hexdigit());
    matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(hex)
}

/// Accepts a scheme with an absolute path behind it, or an absolute path.
fn is_request_uri(text: &str) -> bool {
    let plain = !text.chars().any(|character| character.is_ascii_control() || character == ' ');
    let scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(word)
            && rest.starts_with('/')
    });
    plain && (text.starts_with('/') || scheme)
}

fn is_email(text: &str) -> bool {
    let address = match (text.find('<'), text.ends_with('>')) {
        (Some(start), true) => &text[start + 1..text.len() - 1],
        _ => text,
    };
    let part = |part: &str| {
        let allowed = |c: char| !c.is_whitespace() && !matches!(c, '@' | '<' | '>' | ',' | ';');
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && part.chars().all(allowed)
    };
    address.rsplit_once('@').is_some_and(|(local, domain)| part(local) && part(domain))
}

fn is_hostname(text: &str) -> bool {
    matches(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let found = TIME.as_ref().and_then(|pattern| pattern.captures(time));
    let in_range =
        found.is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59");
    is_date(date) && in_range
}

fn is_duration(text: &str) -> bool {
    text == "0" || matches(&DURATION, text) || matches(&LONG_DURATION, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_good_from_bad() {
        for (format, good, bad) in [
            ("uri", "https://example.com/a", "example.com"),
            ("email", "a@example.com", "a@"),
            ("hostname", "a.example.com", "-a"),
            ("ipv4", "192.0.2.1", "192.0.2.256"),
            ("ipv6", "2001:db8::1", "192.0.2.1"),
            ("cidr", "192.0.2.0/24", "192.0.2.0/33"),
            ("mac", "00:00:5e:00:53:01", "00:00"),
            ("uuid", "c5bd1e1e-3b0e-4d6b-8f6f-1c2d3e4f5a6b", "c5bd1e1e"),
            ("byte", "YQ==", "YQ="),
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2024-01-01T00:00:00Z", "2024-01-01"),
            ("duration", "1h30m", "soon"),
        ] {
            assert!(has_format(format, good), "{format} {good}");
            assert!(!has_format(format, bad), "{format} {bad}");
        }
    }

    #[test]
    fn classes_are_ascii_as_in_go() {
        let pattern = Regex::new(&go_regex(r"^[\d\s]\w\\d$")).unwrap();
        assert!(pattern.is_match("1a\\d"));
        assert!(!pattern.is_match("\u{661}a\\d"));
    }
}
