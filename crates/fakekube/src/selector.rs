//! Label and field selectors.

use serde_json::Value;

use crate::refusal::Refusal;
use crate::registry::Kind;

/// A condition on a label.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Label {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
    Above(String, i64),
    Below(String, i64),
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    path: String,
    value: String,
    equal: bool,
}

/// A conjunction of label and field conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Label>,
    fields: Vec<Field>,
}

impl Selector {
    pub(crate) fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Refusal> {
        let labels = Tokens::new(labels).requirements().map_err(Refusal::bad_request)?;
        Ok(Self { labels, fields: parse_fields(kind, fields)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether a stored object satisfies all conditions.
    pub(crate) fn fits(&self, object: &Value) -> bool {
        self.labels.iter().all(|label| label.fits(&object["metadata"]["labels"]))
            && self.fields.iter().all(|field| field.fits(object))
    }
}

impl Label {
    fn fits(&self, labels: &Value) -> bool {
        let of = |key: &String| labels.get(key).and_then(Value::as_str);
        let number = |key: &String| of(key).and_then(|text| text.parse::<i64>().ok());
        match self {
            Self::In(key, values) => of(key).is_some_and(|v| values.iter().any(|one| one == v)),
            Self::NotIn(key, values) => of(key).is_none_or(|v| values.iter().all(|one| one != v)),
            Self::Exists(key) => of(key).is_some(),
            Self::Missing(key) => of(key).is_none(),
            Self::Above(key, bound) => number(key).is_some_and(|value| value > *bound),
            Self::Below(key, bound) => number(key).is_some_and(|value| value < *bound),
        }
    }
}

impl Field {
    fn fits(&self, object: &Value) -> bool {
        (text_at(object, &self.path) == self.value) == self.equal
    }
}

fn text_at(object: &Value, path: &str) -> String {
    let value = path.split('.').try_fold(object, |value, part| value.get(part));
    match value {
        None | Some(Value::Null) if path == "spec.unschedulable" => "false".to_owned(),
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Parses `a=b,c!=d`. Only selectable fields of the kind are allowed.
fn parse_fields(kind: &Kind, text: &str) -> Result<Vec<Field>, Refusal> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| parse_field(kind, part, text)).collect()
}

fn parse_field(kind: &Kind, part: &str, whole: &str) -> Result<Field, Refusal> {
    let ways = [("!=", false), ("==", true), ("=", true)];
    let split = ways.iter().find_map(|(sign, equal)| Some((part.split_once(sign)?, *equal)));
    let Some(((path, value), equal)) = split else {
        let message = format!("invalid selector: '{whole}'; can't understand '{part}'");
        return Err(Refusal::bad_request(message));
    };
    let path = stored_path(kind, path)?;
    Ok(Field { path, value: value.to_owned(), equal })
}

/// Path of a selectable field in the stored object.
fn stored_path(kind: &Kind, path: &str) -> Result<String, Refusal> {
    let always = ["metadata.name", "metadata.namespace"];
    let mine: &[(&str, &str)] = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => POD_FIELDS,
        ("", "nodes") => &[("spec.unschedulable", "spec.unschedulable")],
        ("", "namespaces") => &[("status.phase", "status.phase"), ("name", "metadata.name")],
        ("", "secrets") => &[("type", "type")],
        ("", "events") => EVENT_FIELDS,
        ("events.k8s.io", "events") => NEW_EVENT_FIELDS,
        _ => &[],
    };
    if let Some((_, stored)) = mine.iter().find(|(name, _)| *name == path) {
        return Ok((*stored).to_owned());
    }
    if always.contains(&path) || kind.selectable.iter().any(|field| field == path) {
        return Ok(path.to_owned());
    }
    let custom = !kind.built_in();
    if custom || !mine.is_empty() {
        return Err(Refusal::bad_request(format!("field label not supported: {path}")));
    }
    let message = format!(
        "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    Err(Refusal::bad_request(message))
}

const POD_FIELDS: &[(&str, &str)] = &[
    ("spec.nodeName", "spec.nodeName"),
    ("spec.restartPolicy", "spec.restartPolicy"),
    ("spec.schedulerName", "spec.schedulerName"),
    ("spec.serviceAccountName", "spec.serviceAccountName"),
    ("spec.hostNetwork", "spec.hostNetwork"),
    ("status.phase", "status.phase"),
    ("status.podIP", "status.podIP"),
    ("status.nominatedNodeName", "status.nominatedNodeName"),
];

const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject.kind", "involvedObject.kind"),
    ("involvedObject.namespace", "involvedObject.namespace"),
    ("involvedObject.name", "involvedObject.name"),
    ("involvedObject.uid", "involvedObject.uid"),
    ("involvedObject.apiVersion", "involvedObject.apiVersion"),
    ("involvedObject.resourceVersion", "involvedObject.resourceVersion"),
    ("involvedObject.fieldPath", "involvedObject.fieldPath"),
    ("reason", "reason"),
    ("reportingComponent", "reportingComponent"),
    ("source", "source.component"),
    ("type", "type"),
];

const NEW_EVENT_FIELDS: &[(&str, &str)] = &[
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reason", "reason"),
    ("reportingController", "reportingComponent"),
    ("type", "type"),
];

/// Tokens of a label selector: words and operators.
struct Tokens {
    tokens: Vec<String>,
    next: usize,
}

impl Tokens {
    fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut word = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if !matches!(letter, ',' | '(' | ')' | '=' | '!' | '<' | '>' | ' ' | '\t') {
                word.push(letter);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if matches!(letter, ' ' | '\t') {
                continue;
            }
            let mut sign = letter.to_string();
            if matches!(letter, '=' | '!') && letters.peek() == Some(&'=') {
                sign.extend(letters.next());
            }
            tokens.push(sign);
        }
        if !word.is_empty() {
            tokens.push(word);
        }
        Self { tokens, next: 0 }
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.next).map_or("", String::as_str)
    }

    fn take(&mut self) -> String {
        let token = self.peek().to_owned();
        self.next += 1;
        token
    }

    fn requirements(mut self) -> Result<Vec<Label>, String> {
        let mut found = Vec::new();
        while !self.peek().is_empty() {
            if self.peek() != "!" && !begins_key(self.peek()) {
                let other = self.peek();
                return Err(format!(
                    "found '{other}', expected: !, identifier, or 'end of string'"
                ));
            }
            let one = self.requirement();
            found.push(one.map_err(|why| format!("unable to parse requirement: {why}"))?);
            match self.take().as_str() {
                "" => break,
                "," if self.peek().is_empty() => {
                    return Err("found '', expected: identifier after ','".to_owned());
                }
                "," => {}
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
        Ok(found)
    }

    fn requirement(&mut self) -> Result<Label, String> {
        let missing = self.peek() == "!";
        if missing {
            self.take();
        }
        let key = self.take();
        if !begins_key(&key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        check_key(&key)?;
        if missing {
            return Ok(Label::Missing(key));
        }
        match self.peek().to_owned().as_str() {
            "" | "," => Ok(Label::Exists(key)),
            "=" | "==" => {
                self.take();
                Ok(Label::In(key, vec![self.value()]))
            }
            "!=" => {
                self.take();
                Ok(Label::NotIn(key, vec![self.value()]))
            }
            ">" | "<" => self.bound(key),
            "in" => {
                self.take();
                Ok(Label::In(key, self.values()?))
            }
            "notin" => {
                self.take();
                Ok(Label::NotIn(key, self.values()?))
            }
            other => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    /// The value after an operator; may be empty.
    fn value(&mut self) -> String {
        if matches!(self.peek(), "" | ",") { String::new() } else { self.take() }
    }

    fn bound(&mut self, key: String) -> Result<Label, String> {
        let above = self.take() == ">";
        let bound = self.take();
        let bound = bound
            .parse()
            .map_err(|_| "for 'Gt', 'Lt' operators, the value must be an integer".to_owned())?;
        Ok(if above { Label::Above(key, bound) } else { Label::Below(key, bound) })
    }

    /// `(a, b)`
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.take();
        if open != "(" {
            return Err(format!("found '{open}' expected: '('"));
        }
        let mut values = vec![self.list_value()];
        loop {
            match self.take().as_str() {
                ")" => return Ok(values),
                "," => values.push(self.list_value()),
                other => return Err(format!("found '{other}', expected: ',' or ')'")),
            }
        }
    }

    fn list_value(&mut self) -> String {
        if matches!(self.peek(), "," | ")" | "") { String::new() } else { self.take() }
    }
}

/// Whether a token is a word.
fn begins_key(token: &str) -> bool {
    !matches!(token, "" | "," | "(" | ")" | "=" | "==" | "!" | "!=" | "<" | ">")
}

/// Checks a label key.
fn check_key(key: &str) -> Result<(), String> {
    let name = key.rsplit('/').next().unwrap_or_default();
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let middle = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if ends(name.chars().next()) && ends(name.chars().last()) && name.chars().all(middle) {
        return Ok(());
    }
    Err(format!(
        "<nil>: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn fits(labels: &str) -> bool {
        let registry = Registry::new();
        let kind = registry.get("", "v1", "pods").unwrap();
        let object = json!({"metadata": {"labels": {"app": "x", "n": "7", "a.b/c": ""}}});
        Selector::parse(kind, labels, "").unwrap().fits(&object)
    }

    #[test]
    fn label_selectors_mean_what_the_server_means() {
        for yes in ["", "app", "app=x", "app==x", "app in (x,y)", "app notin (y)", "!no", "no!=1"] {
            assert!(fits(yes), "{yes}");
        }
        for yes in ["n>6", "n<8", "a.b/c=", "a.b/c in (,z)", "app , n=7", "no notin (a)"] {
            assert!(fits(yes), "{yes}");
        }
        for no in ["no", "app=y", "app!=x", "!app", "app notin (x)", "n>7", "app=x,n=8", "app="] {
            assert!(!fits(no), "{no}");
        }
    }
}
