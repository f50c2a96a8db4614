//! The filters of listings: comparisons of a field with a value (`=`, `!=`, `eq`, `ne`), in
//! parentheses, joined with `AND` (or nothing) and `OR`. All other filters are refused.
//!
//! The vendor reads the value after `eq` and `ne` as a regular expression. Values that are one, but
//! for dots, are refused.

use serde_json::Value;

use super::refusal::Refusal;
use crate::call::Call;

/// A filter of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// Fits if the field has the value, or does not if `not`.
    Is { field: String, value: String, not: bool },
    /// Fits if all fit. Without parts, everything fits.
    All(Vec<Self>),
    /// Fits if one fits.
    Any(Vec<Self>),
}

/// The fields that can be compared.
const FIELDS: [&str; 11] = [
    "address",
    "addressType",
    "creationTimestamp",
    "description",
    "id",
    "kind",
    "name",
    "networkTier",
    "region",
    "status",
    "zone",
];

impl Filter {
    /// The filter of a call.
    pub(super) fn of(call: &Call) -> Result<Self, Refusal> {
        let given = call.parameter("filter").unwrap_or_default();
        parse(given)
            .ok_or_else(|| Refusal::invalid("filter", given, "Invalid list filter expression."))
    }

    /// Whether a resource fits.
    pub(super) fn fits(&self, resource: &Value) -> bool {
        match self {
            Self::Is { field, value, not } => {
                (resource[field].as_str().unwrap_or_default() == value) != *not
            }
            Self::All(parts) => parts.iter().all(|part| part.fits(resource)),
            Self::Any(parts) => parts.iter().any(|part| part.fits(resource)),
        }
    }

    /// The value that a field must have, if the filter says so.
    pub(super) fn value(&self, wanted: &str) -> Option<&str> {
        match self {
            Self::Is { field, value, not: false } if field == wanted => Some(value),
            Self::All(parts) => parts.iter().find_map(|part| part.value(wanted)),
            _ => None,
        }
    }
}

/// Reads a filter; `None` if it is not understood.
pub(super) fn parse(text: &str) -> Option<Filter> {
    let words = words(text)?;
    if words.is_empty() {
        return Some(Filter::All(Vec::new()));
    }
    let mut parser = Parser { words: &words };
    let filter = parser.any()?;
    parser.words.is_empty().then_some(filter)
}

/// A word of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Open,
    Close,
    /// `=`, `!=`, or a word without quotes.
    Bare(String),
    Quoted(String),
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, length) = match first {
            '(' => (Word::Open, 1),
            ')' => (Word::Close, 1),
            '=' => (Word::Bare("=".to_owned()), 1),
            '!' => (Word::Bare("!=".to_owned()), rest.starts_with("!=").then_some(2)?),
            '"' | '\'' => {
                let end = rest[1..].find(first)?;
                (Word::Quoted(rest[1..=end].to_owned()), end + 2)
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || "()=!\"'".contains(c);
                let end = rest.find(ends).unwrap_or(rest.len());
                (Word::Bare(rest[..end].to_owned()), end)
            }
        };
        words.push(word);
        rest = rest[length..].trim_start();
    }
    Some(words)
}

struct Parser<'a> {
    words: &'a [Word],
}

impl Parser<'_> {
    fn next(&mut self) -> Option<&Word> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn skip(&mut self, keyword: &str) -> bool {
        let there = matches!(self.words.first(), Some(Word::Bare(word)) if word == keyword);
        if there {
            self.words = &self.words[1..];
        }
        there
    }

    fn any(&mut self) -> Option<Filter> {
        let mut parts = vec![self.all()?];
        while self.skip("OR") {
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Filter::Any(parts) })
    }

    fn all(&mut self) -> Option<Filter> {
        let mut parts = vec![self.one()?];
        while self.skip("AND") || matches!(self.words.first(), Some(Word::Open)) {
            parts.push(self.one()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Filter::All(parts) })
    }

    fn one(&mut self) -> Option<Filter> {
        if self.words.first() == Some(&Word::Open) {
            self.next();
            let inner = self.any()?;
            return (self.next()? == &Word::Close).then_some(inner);
        }
        let Word::Bare(field) = self.next()? else { return None };
        let field = FIELDS.contains(&field.as_str()).then(|| field.clone())?;
        let (not, pattern) = match self.next()? {
            Word::Bare(word) if word == "=" => (false, false),
            Word::Bare(word) if word == "!=" => (true, false),
            Word::Bare(word) if word == "eq" => (false, true),
            Word::Bare(word) if word == "ne" => (true, true),
            _ => return None,
        };
        let (Word::Bare(value) | Word::Quoted(value)) = self.next()? else { return None };
        let odd = |c: char| "*|[]{}()^$+?\\".contains(c) && (pattern || c == '*');
        (!value.contains(odd)).then(|| Filter::Is { field, value: value.clone(), not })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(filter: &str) -> Option<bool> {
        let address = json!({"name": "web", "address": "192.0.2.1", "addressType": "EXTERNAL"});
        parse(filter).map(|filter| filter.fits(&address))
    }

    #[test]
    fn comparisons_are_joined_and_nested() {
        for filter in [
            "",
            "name = web",
            "name=\"web\"",
            "address = \"192.0.2.1\"",
            "address eq 192.0.2.1",
            "name ne 'other'",
            "name != other",
            "(name = web) AND (addressType = \"EXTERNAL\")",
            "(name eq web)(address eq 192.0.2.1)",
            "name = other OR (name = web AND address = 192.0.2.1)",
        ] {
            assert_eq!(fits(filter), Some(true), "{filter}");
        }
        for filter in ["name = we", "status = RESERVED", "name = web AND address = 192.0.2.2"] {
            assert_eq!(fits(filter), Some(false), "{filter}");
        }
    }

    #[test]
    fn filters_that_are_not_understood_are_refused() {
        for filter in [
            "web",
            "name",
            "name =",
            "name : web",
            "name > web",
            "nonsense = 1",
            "name eq w.*",
            "name = w*",
            "(name = web",
            "name = web)",
            "name = web address = 192.0.2.1",
            "name = web AND",
            "name = \"web",
            "! name = web",
        ] {
            assert_eq!(fits(filter), None, "{filter}");
        }
    }

    #[test]
    fn a_filter_tells_the_value_that_a_field_must_have() {
        let filter = parse("(addressType = EXTERNAL) AND (address = 192.0.2.1)").unwrap();
        assert_eq!(filter.value("address"), Some("192.0.2.1"));
        assert_eq!(filter.value("name"), None);
        let either = parse("address = 192.0.2.1 OR address = 192.0.2.2").unwrap();
        assert_eq!(either.value("address"), None);
    }
}
