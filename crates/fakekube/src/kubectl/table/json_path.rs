//! The subset of kubectl's JSONPath for printer columns and field selectors.

use serde_json::Value;

/// A path to values in an object: names, indices, `[*]` and filters such as
/// `[?(@.type=="Ready")]`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Name(String),
    Index(i64),
    All,
    Filter { left: JsonPath, test: Test },
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compare { operator: &'static str, right: Value },
}

/// Longer operators first, so that `<=` is not parsed as `<`.
const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`. `None` for invalid
    /// paths and unsupported parts of JSONPath.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (step, after) = step(rest)?;
            steps.extend(step);
            rest = after;
        }
        Some(Self { steps })
    }

    /// The values at the path, in order, without missing values.
    #[must_use]
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        self.steps.iter().fold(vec![object], |found, step| {
            found.into_iter().flat_map(|value| step.find(value)).collect()
        })
    }
}

impl Step {
    fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().map(Vec::as_slice).unwrap_or_default();
        match self {
            Self::Name(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => {
                let from_end = i64::try_from(items().len()).unwrap_or_default() + index;
                let index = if *index < 0 { from_end } else { *index };
                usize::try_from(index)
                    .ok()
                    .and_then(|index| items().get(index))
                    .into_iter()
                    .collect()
            }
            Self::All => match value {
                Value::Object(fields) => fields.values().collect(),
                _ => items().iter().collect(),
            },
            Self::Filter { left, test } => {
                let passes = |item: &&Value| {
                    let found = left.find(item).first().copied();
                    found.is_some_and(|found| test.passes(found))
                };
                items().iter().filter(passes).collect()
            }
        }
    }
}

impl Test {
    fn passes(&self, left: &Value) -> bool {
        let Self::Compare { operator, right } = self else { return true };
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.partial_cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().partial_cmp(&right.as_f64())
            }
            (Value::Bool(left), Value::Bool(right)) => left.partial_cmp(right),
            _ => None,
        };
        let Some(order) = order else { return false };
        match *operator {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            "<" => order.is_lt(),
            _ => order.is_gt(),
        }
    }
}

/// The first step of a text (`None` for a lone dot), and the rest.
fn step(text: &str) -> Option<(Option<Step>, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let end = closing(inner)?;
        return Some((Some(bracket(inner[..end].trim())?), &inner[end + 1..]));
    }
    let rest = text.strip_prefix('.').unwrap_or(text);
    let mut name = String::new();
    let mut characters = rest.char_indices();
    let mut end = rest.len();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.push(characters.next()?.1),
            '.' | '[' => {
                end = index;
                break;
            }
            plain => name.push(plain),
        }
    }
    let step = match name.as_str() {
        "" => None,
        "*" => Some(Step::All),
        _ => Some(Step::Name(name)),
    };
    if step.is_none() && rest.len() == text.len() { None } else { Some((step, &rest[end..])) }
}

/// The offset of the closing bracket; brackets in quotes do not count.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(index),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter.trim());
    }
    match literal(inner)? {
        Value::String(name) => Some(Step::Name(name)),
        Value::Number(index) => index.as_i64().map(Step::Index),
        _ => None,
    }
}

fn filter(text: &str) -> Option<Step> {
    let text = text.strip_prefix('@')?;
    let found = OPERATORS.iter().filter_map(|operator| Some((text.find(operator)?, *operator)));
    let Some((at, operator)) = found.min_by_key(|(at, operator)| (*at, 2 - operator.len())) else {
        return Some(Step::Filter { left: JsonPath::parse(text)?, test: Test::Exists });
    };
    let left = JsonPath::parse(text[..at].trim())?;
    let right = literal(text[at + operator.len()..].trim())?;
    Some(Step::Filter { left, test: Test::Compare { operator, right } })
}

/// A quoted text, a number or a truth value.
fn literal(text: &str) -> Option<Value> {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(Value::from(inner.replace(&format!("\\{quote}"), &quote.to_string())));
        }
    }
    serde_json::from_str(text).ok().filter(|value: &Value| value.is_number() || value.is_boolean())
}

/// A value as the server prints it in a text column.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            let json = value.to_string();
            json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({
            "metadata": {"annotations": {"a.b/c": "x"}},
            "spec": {"list": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [
                {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, expected) in [
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (r#".status.conditions[?(@.type=='None')].status"#, json!([])),
            (r".metadata.annotations.a\.b/c", json!(["x"])),
            (".metadata.annotations['a.b/c']", json!(["x"])),
            (".spec.list[*].n", json!([1, 2])),
            (".spec.list[1].n", json!([2])),
            (".spec.list[-1].n", json!([2])),
            (".spec.list[?(@.n>=2)].n", json!([2])),
            (".spec.list[?(@.n)].n", json!([1, 2])),
            (".missing.field", json!([])),
        ] {
            let found = JsonPath::parse(path).unwrap();
            assert_eq!(json!(found.find(&object)), expected, "{path}");
        }
        assert_eq!(JsonPath::parse("[?(@.a"), None);
        assert_eq!(JsonPath::parse("[0:2]"), None);
    }

    #[test]
    fn lists_and_maps_are_printed_as_json() {
        assert_eq!(printed(&json!({"a": [1, "<b"]})), r#"{"a":[1,"\u003cb"]}"#);
    }
}
