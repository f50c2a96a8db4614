//! The file with the administrator's policy, and its form.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pontoon_core::model::Text;
use pontoon_core::policy::{Cidr, Pattern, Policy, Rule, plain_zone};
use pontoon_providers::vendors;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// A policy file, as last read.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    path: PathBuf,
    text: String,
    policy: Policy,
    /// Why the latest content of the file is not in force.
    problem: Option<String>,
}

/// The result of reading the file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reread {
    /// Nothing has changed since the last time.
    Same,
    /// This policy is in force from now on.
    Changed(Policy),
    /// The content cannot be used, for this reason. The policy before stays in force.
    Refused(String),
    /// The content is that of the policy in force again.
    Restored,
}

impl PolicyFile {
    /// Reads a file, in YAML or JSON.
    ///
    /// # Errors
    /// The message names the file, the line and the problem.
    pub fn open(path: &Path) -> Result<Self, String> {
        let (text, policy) = read(path)?;
        Ok(Self { path: path.to_owned(), text, policy, problem: None })
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Reads the file again.
    pub fn reread(&mut self) -> Reread {
        match read(&self.path) {
            Ok((text, _)) if text == self.text => match self.problem.take() {
                Some(_) => Reread::Restored,
                None => Reread::Same,
            },
            Ok((text, policy)) => {
                (self.text, self.policy, self.problem) = (text, policy.clone(), None);
                Reread::Changed(policy)
            }
            Err(problem) if self.problem.as_ref() == Some(&problem) => Reread::Same,
            Err(problem) => {
                self.problem = Some(problem.clone());
                Reread::Refused(problem)
            }
        }
    }
}

fn read(path: &Path) -> Result<(String, Policy), String> {
    let named = |problem: &dyn fmt::Display| format!("{}: {problem}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    let policy = parse(&text).map_err(|problem| named(&problem))?;
    Ok((text, policy))
}

/// The policy in a text.
fn parse(text: &str) -> Result<Policy, String> {
    let form: PolicyForm = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    // A list that was commented out must not permit everything.
    let rules = form.rules.ok_or("rules: has no list; write rules: [] for no rule")?;
    Ok(Policy { rules: rules.into_iter().map(Into::into).collect() })
}

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyForm {
    rules: Option<Vec<RuleForm>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleForm {
    #[serde(deserialize_with = "any")]
    namespaces: Vec<Parsed<Pattern>>,
    #[serde(default, deserialize_with = "given")]
    providers: Option<Vec<Parsed<Provider>>>,
    #[serde(default, deserialize_with = "given")]
    cidrs: Option<Vec<Parsed<Cidr>>>,
    #[serde(default, deserialize_with = "given")]
    zones: Option<Vec<Parsed<Zone>>>,
}

/// A list with an entry: a rule without namespaces would govern nothing.
fn any<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.is_empty() {
        return Err(D::Error::custom("namespaces names none"));
    }
    Ok(list)
}

/// A list that is there. A key without a value is an empty list, which permits nothing.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Vec::deserialize(from).map(Some)
}

impl From<RuleForm> for Rule {
    fn from(form: RuleForm) -> Self {
        let RuleForm { namespaces, providers, cidrs, zones } = form;
        Self {
            namespaces: namespaces.into_iter().map(|one| one.0).collect(),
            providers: providers.map(|all| all.into_iter().map(|one| one.0.0).collect()),
            cidrs: cidrs.map(|all| all.into_iter().map(|one| one.0).collect()),
            zones: zones.map(|all| all.into_iter().map(|one| one.0.0).collect()),
        }
    }
}

/// A value that is written as text.
struct Parsed<T>(T);

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

struct Provider(Text);

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known: Vec<_> = vendors().map(|vendor| vendor.name).collect();
        match known.contains(&text) {
            true => Ok(Self(text.into())),
            false => Err(format!("\"{text}\" is not a provider; known: {}", known.join(", "))),
        }
    }
}

struct Zone(Text);

impl FromStr for Zone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let zone = plain_zone(text);
        match zone.is_empty() || zone.contains(['*', ' ', '/']) {
            true => Err(format!("\"{text}\" is neither the name nor the ID of a zone")),
            false => Ok(Self(zone)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "
rules:
  - namespaces: [team-a, 'team-b-*']
    providers: [digitalocean, cloudflare]
    cidrs: [192.0.2.0/24, '2001:db8::/32']
    zones: [Example.com.]
  - namespaces: ['*']
    providers: []
";

    #[test]
    fn yaml_and_json_are_read_alike() {
        let policy = parse(WHOLE).unwrap();
        assert_eq!(policy.rules.len(), 2);
        let zones = policy.rules[0].zones.as_ref().unwrap();
        assert!(zones.contains("example.com"), "{zones:?}");
        assert_eq!(policy.rules[1].providers.as_ref().map(|all| all.len()), Some(0));
        assert_eq!(policy.rules[1].cidrs, None);
        let json = r#"{"rules": [
            {"namespaces": ["team-a", "team-b-*"], "providers": ["digitalocean", "cloudflare"],
             "cidrs": ["192.0.2.0/24", "2001:db8::/32"], "zones": ["example.com"]},
            {"namespaces": ["*"], "providers": []}]}"#;
        assert_eq!(parse(json).unwrap(), policy);
        assert_eq!(parse("rules: []").unwrap(), Policy::default());
    }

    #[test]
    fn a_list_that_was_commented_out_permits_nothing() {
        let policy = parse("rules:\n- namespaces: [a]\n  zones:\n  # - example.com\n").unwrap();
        assert_eq!(policy.rules[0].zones.as_ref().map(|all| all.len()), Some(0));
        assert_eq!(policy.rules[0].providers, None);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, words) in [
            ("rules:\n  - namespaces: [a]\n    provider: [gcp]\n", "provider"),
            ("rules:\n  - namespaces: [a]\n    providers: [aws]\n", "\"aws\" is not a provider"),
            ("rules:\n  - namespaces: [a]\n    cidrs: [192.0.2.1/24]\n", "beyond its prefix"),
            ("rules:\n  - namespaces: [a]\n    zones: ['*.example.com']\n", "*.example.com"),
            ("rules:\n  - namespaces:\n    - A_b\n", "A_b"),
            ("rules:\n  -\n    providers: [gcp]\n", "namespaces"),
            ("rules:\n  - namespaces: [a]\n  broken: [\n", ""),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains("line 3"), "{text}: {problem}");
            assert!(problem.contains(words), "{text}: {problem}");
        }
        for text in [
            "",
            "rules:\n",
            "rules: [{namespaces: []}]",
            "rules: [{namespaces: }]",
            "- namespaces: [a]\n",
            "allow: all\n",
            "rules: all\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_leaves_the_last_policy_in_force_and_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        assert!(PolicyFile::open(&path).unwrap_err().contains("policy.yaml"));
        write(WHOLE);
        let mut file = PolicyFile::open(&path).unwrap();
        assert_eq!(file.reread(), Reread::Same);
        write("rules: [");
        let Reread::Refused(problem) = file.reread() else { panic!() };
        assert!(problem.contains("policy.yaml"), "{problem}");
        assert_eq!(file.reread(), Reread::Same);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(file.reread(), Reread::Refused(_)));
        assert_eq!(file.policy().rules.len(), 2);
        write(WHOLE);
        assert_eq!(file.reread(), Reread::Restored);
        write("rules: []");
        assert_eq!(file.reread(), Reread::Changed(Policy::default()));
    }
}
