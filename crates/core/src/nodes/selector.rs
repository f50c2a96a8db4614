//! Kubernetes label selectors in their text form: `a=b,c!=d,e in (x,y),!f`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::Text;

/// A parsed selector: all requirements must hold. The empty selector accepts everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Requirement {
    key: Text,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<Text>),
    /// The label has one of these values, or is absent. Kubernetes has no syntax for this.
    InIfPresent(BTreeSet<Text>),
    NotIn(BTreeSet<Text>),
    Above(i64),
    Below(i64),
}

/// A syntax error in a selector, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(String);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}

impl Selector {
    /// Parses the syntax of `kubectl -l`.
    ///
    /// # Errors
    /// Names the part that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut tokens = Tokens::of(text);
        let mut requirements = Vec::new();
        if tokens.peek() == &Token::End {
            return Ok(Self::default());
        }
        loop {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                Token::End => break,
                Token::Comma => {}
                other => return Err(unexpected(&other, "',' or the end")),
            }
        }
        requirements.sort();
        Ok(Self { requirements })
    }

    /// The requirement that labels are as given.
    pub fn equal<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let one = |(key, value): (&str, &str)| Requirement {
            key: key.into(),
            test: Test::In([value.into()].into()),
        };
        let mut requirements: Vec<_> = labels.into_iter().map(one).collect();
        requirements.sort();
        Self { requirements }
    }

    /// The requirement in addition that a label, if present, has one of these values.
    #[must_use]
    pub fn and_if_present<'a>(
        mut self,
        key: &str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let test = Test::InIfPresent(values.into_iter().map(Into::into).collect());
        self.requirements.push(Requirement { key: key.into(), test });
        self.requirements.sort();
        self
    }

    /// An `in` requirement that every match satisfies. Used as an index key: labels without one of
    /// these values cannot match.
    pub(crate) fn anchor(&self) -> Option<(&Text, &BTreeSet<Text>)> {
        self.requirements.iter().find_map(|one| match &one.test {
            Test::In(values) => Some((&one.key, values)),
            _ => None,
        })
    }

    /// Whether the selector accepts everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels satisfy every requirement.
    pub fn accepts(&self, labels: &BTreeMap<Text, Text>) -> bool {
        self.requirements.iter().all(|one| one.test.accepts(labels.get(&one.key)))
    }
}

impl fmt::Display for Selector {
    /// Writes the syntax of `kubectl -l`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.requirements.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            one.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let list = |values: &BTreeSet<Text>| values.iter().cloned().collect::<Vec<_>>().join(",");
        match &self.test {
            Test::Exists => f.write_str(key),
            Test::Absent => write!(f, "!{key}"),
            Test::In(values) if values.len() == 1 => write!(f, "{key}={}", list(values)),
            Test::In(values) => write!(f, "{key} in ({})", list(values)),
            Test::InIfPresent(values) => write!(f, "{key} in ({}) or absent", list(values)),
            Test::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", list(values)),
            Test::NotIn(values) => write!(f, "{key} notin ({})", list(values)),
            Test::Above(limit) => write!(f, "{key}>{limit}"),
            Test::Below(limit) => write!(f, "{key}<{limit}"),
        }
    }
}

impl Test {
    fn accepts(&self, value: Option<&Text>) -> bool {
        let number = || value.and_then(|text| text.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::InIfPresent(values) => value.is_none_or(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Above(limit) => number().is_some_and(|number| number > *limit),
            Self::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Comma,
    Bang,
    Equals,
    NotEquals,
    Greater,
    Less,
    Open,
    Close,
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Comma => f.write_str("','"),
            Self::Bang => f.write_str("'!'"),
            Self::Equals => f.write_str("'='"),
            Self::NotEquals => f.write_str("'!='"),
            Self::Greater => f.write_str("'>'"),
            Self::Less => f.write_str("'<'"),
            Self::Open => f.write_str("'('"),
            Self::Close => f.write_str("')'"),
            Self::End => f.write_str("the end"),
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
    next: Token<'a>,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        let mut tokens = Self { rest: text, next: Token::End };
        tokens.next();
        tokens
    }

    fn peek(&self) -> &Token<'a> {
        &self.next
    }

    fn next(&mut self) -> Token<'a> {
        let text = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let (token, length) = match text.as_bytes() {
            [] => (Token::End, 0),
            [b'!', b'=', ..] => (Token::NotEquals, 2),
            [b'=', b'=', ..] => (Token::Equals, 2),
            [b'=', ..] => (Token::Equals, 1),
            [b'!', ..] => (Token::Bang, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            _ => {
                let end = text
                    .find([' ', '\t', '\r', '\n', '!', '=', ',', '(', ')', '>', '<'])
                    .unwrap_or(text.len());
                (Token::Word(&text[..end]), end)
            }
        };
        self.rest = &text[length..];
        std::mem::replace(&mut self.next, token)
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, SelectorError> {
    if tokens.peek() == &Token::Bang {
        tokens.next();
        return Ok(Requirement { key: key(tokens)?, test: Test::Absent });
    }
    let key = key(tokens)?;
    let test = match tokens.peek() {
        Token::End | Token::Comma => {
            return Ok(Requirement { key, test: Test::Exists });
        }
        Token::Equals => Test::In([followed_by_value(tokens)?].into()),
        Token::NotEquals => Test::NotIn([followed_by_value(tokens)?].into()),
        Token::Greater => Test::Above(followed_by_number(tokens)?),
        Token::Less => Test::Below(followed_by_number(tokens)?),
        Token::Word("in") => Test::In(followed_by_set(tokens)?),
        Token::Word("notin") => Test::NotIn(followed_by_set(tokens)?),
        other => {
            return Err(unexpected(other, "one of '=', '!=', '==', 'in', 'notin', '<', '>'"));
        }
    };
    Ok(Requirement { key, test })
}

fn key(tokens: &mut Tokens<'_>) -> Result<Text, SelectorError> {
    let Token::Word(word) = tokens.peek().clone() else {
        return Err(unexpected(tokens.peek(), "a label key"));
    };
    tokens.next();
    let (prefix, name) = word.rsplit_once('/').map_or((None, word), |(p, n)| (Some(p), n));
    let named = is_label_word(name) && !name.is_empty();
    let prefixed = prefix.is_none_or(is_dns_subdomain);
    if named && prefixed { Ok(word.into()) } else { Err(bad(word, "label key")) }
}

fn followed_by_value(tokens: &mut Tokens<'_>) -> Result<Text, SelectorError> {
    tokens.next();
    // `a=` is legal and means the empty value.
    match tokens.peek().clone() {
        Token::Word(word) => {
            tokens.next();
            value(word)
        }
        Token::End | Token::Comma => Ok("".into()),
        other => Err(unexpected(&other, "a label value")),
    }
}

fn followed_by_number(tokens: &mut Tokens<'_>) -> Result<i64, SelectorError> {
    let text = followed_by_value(tokens)?;
    text.parse().map_err(|_| SelectorError(format!("'{text}' is not a whole number")))
}

fn followed_by_set(tokens: &mut Tokens<'_>) -> Result<BTreeSet<Text>, SelectorError> {
    tokens.next();
    match tokens.next() {
        Token::Open => {}
        other => return Err(unexpected(&other, "'('")),
    }
    let mut values = BTreeSet::new();
    loop {
        match tokens.next() {
            Token::Word(word) => {
                values.insert(value(word)?);
                match tokens.next() {
                    Token::Comma => {}
                    Token::Close => return Ok(values),
                    other => return Err(unexpected(&other, "',' or ')'")),
                }
            }
            // `(x,)` and `()` hold the empty value, as in Kubernetes.
            Token::Comma => {
                values.insert("".into());
            }
            Token::Close => {
                values.insert("".into());
                return Ok(values);
            }
            other => return Err(unexpected(&other, "a label value or ')'")),
        }
    }
}

fn value(word: &str) -> Result<Text, SelectorError> {
    if is_label_word(word) { Ok(word.into()) } else { Err(bad(word, "label value")) }
}

/// At most 63 of letters, digits, `-_.`, beginning and ending with a letter or digit.
fn is_label_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    bytes.len() <= 63
        && ends.into_iter().flatten().all(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            !bytes.is_empty()
                && [bytes.first(), bytes.last()]
                    .into_iter()
                    .flatten()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                && bytes
                    .iter()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
        })
}

fn bad(word: &str, what: &str) -> SelectorError {
    SelectorError(format!("'{word}' is not a valid {what}"))
}

fn unexpected(found: &Token<'_>, wanted: &str) -> SelectorError {
    SelectorError(format!("found {found} where {wanted} was expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Selector::parse(selector).unwrap().accepts(&labels)
    }

    #[test]
    fn every_form_that_kubectl_takes_is_understood() {
        let labels = [("a", "b"), ("tier", "7"), ("x.io/zone", "z1"), ("empty", "")];
        for selector in [
            "",
            " ",
            "a",
            "a=b",
            "a==b",
            " a = b ",
            "!c",
            "! c",
            "c!=d",
            "a!=x",
            "a in (b)",
            "a in (x, b)",
            "a notin (x,y)",
            "c notin (x)",
            "tier>6",
            "tier < 8",
            "x.io/zone=z1",
            "a=b,tier=7,!c,x.io/zone in (z1,z2)",
            "empty=",
            "empty in ()",
            "empty in (,x)",
        ] {
            assert!(accepts(selector, &labels), "{selector:?} should accept");
        }
        for selector in
            ["c", "a=x", "!a", "a!=b", "a in (x)", "a notin (b)", "tier>7", "a>1", "c=", "a=b,c"]
        {
            assert!(!accepts(selector, &labels), "{selector:?} should refuse");
        }
    }

    #[test]
    fn a_text_that_is_no_selector_is_refused_in_words() {
        for (text, words) in [
            ("a==,,b", "found ',' where a label key was expected"),
            ("a=b,", "found the end where a label key was expected"),
            ("=b", "found '=' where a label key was expected"),
            ("a in b", "found 'b' where '(' was expected"),
            ("a in (b", "found the end where ',' or ')' was expected"),
            ("a b", "found 'b' where one of '=', '!=', '==', 'in', 'notin', '<', '>' was expected"),
            ("a=b c", "found 'c' where ',' or the end was expected"),
            ("-a=b", "'-a' is not a valid label key"),
            ("UP.io/a", "'UP.io/a' is not a valid label key"),
            ("a=b_", "'b_' is not a valid label value"),
            ("a>b", "'b' is not a whole number"),
        ] {
            assert_eq!(Selector::parse(text).unwrap_err().to_string(), words, "{text:?}");
        }
    }

    #[test]
    fn what_a_selector_displays_is_the_same_selector() {
        for text in ["", "a", "!a", "a=b", "a!=b", "a in (b,c)", "a notin (b,c)", "a>1,b<2,c="] {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.to_string(), text);
            assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn the_order_of_requirements_makes_no_difference() {
        assert_eq!(Selector::parse("a=b,c=d"), Selector::parse("c=d, a==b"));
    }
}
