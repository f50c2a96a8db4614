//! Patterns of names.

use std::str::FromStr;

/// A name, or a pattern in which each `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether the pattern stands for a name.
    pub fn matches(&self, name: &str) -> bool {
        let Some((start, rest)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut left) = name.strip_prefix(start) else { return false };
        let mut parts: Vec<_> = rest.split('*').collect();
        let end = parts.pop().unwrap_or_default();
        // The first place of each part leaves most for the parts after it.
        for part in parts {
            let Some(at) = left.find(part) else { return false };
            left = &left[at + part.len()..];
        }
        left.ends_with(end)
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-*".contains(c);
        if !text.chars().all(fits) {
            return Err(format!("\"{text}\" is neither a namespace nor a pattern with *"));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, names, others) in [
            ("team-a", &["team-a"][..], &["team-ab", "", "team"][..]),
            ("", &[""], &["a"]),
            ("*", &["", "a"], &[]),
            ("team-*", &["team-", "team-a"], &["team", "a-team-"]),
            ("*-prod", &["a-prod", "-prod"], &["prod", "a-prod-b"]),
            ("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "abcd"]),
            ("ab*b", &["abb", "abxb"], &["ab"]),
        ] {
            let pattern: Pattern = pattern.parse().unwrap();
            for name in names {
                assert!(pattern.matches(name), "{pattern:?} {name}");
            }
            for name in others {
                assert!(!pattern.matches(name), "{pattern:?} {name}");
            }
        }
        assert!("Team".parse::<Pattern>().is_err() && "a?".parse::<Pattern>().is_err());
    }
}
