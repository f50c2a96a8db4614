//! Label selectors in objects: `matchLabels` and `matchExpressions`.

use serde_json::Value;

/// Whether a selector selects some labels. A missing selector selects nothing, an empty one
/// everything.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let has = |(key, value): (&String, &Value)| labels.get(key) == Some(value);
    selector.is_object()
        && selector["matchLabels"].as_object().into_iter().flatten().all(has)
        && expressions(selector).all(|expression| holds(expression, labels))
}

fn expressions(selector: &Value) -> impl Iterator<Item = &Value> {
    selector["matchExpressions"].as_array().into_iter().flatten()
}

fn holds(expression: &Value, labels: &Value) -> bool {
    let key = expression["key"].as_str().unwrap_or_default();
    let listed = |label: &Value| {
        expression["values"].as_array().into_iter().flatten().any(|value| value == label)
    };
    match (expression["operator"].as_str().unwrap_or_default(), labels.get(key)) {
        ("In", label) => label.is_some_and(listed),
        ("NotIn", label) => !label.is_some_and(listed),
        ("Exists", label) => label.is_some(),
        ("DoesNotExist", label) => label.is_none(),
        _ => false,
    }
}

/// A selector as the server prints it, sorted by key: `app=web,tier in (a,b)`.
pub(crate) fn text(selector: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let equal = labels.map(|(key, value)| (key.clone(), format!("{key}={}", word(value))));
    let others = expressions(selector).map(|expression| {
        let key = word(&expression["key"]);
        let mut values: Vec<String> =
            expression["values"].as_array().into_iter().flatten().map(word).collect();
        values.sort();
        let values = values.join(",");
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        (key, text)
    });
    let mut all: Vec<(String, String)> = equal.chain(others).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_mean_and_read_as_in_the_server() {
        let labels = json!({"app": "x", "tier": "b"});
        let by = |operator: &str, key: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, fits, shown) in [
            (Value::Null, false, ""),
            (json!({}), true, ""),
            (json!({"matchLabels": {"tier": "b", "app": "x"}}), true, "app=x,tier=b"),
            (json!({"matchLabels": {"app": "y"}}), false, "app=y"),
            (by("In", "tier", json!(["b", "a"])), true, "tier in (a,b)"),
            (by("In", "none", json!(["b"])), false, "none in (b)"),
            (by("NotIn", "tier", json!(["b"])), false, "tier notin (b)"),
            (by("NotIn", "none", json!(["b"])), true, "none notin (b)"),
            (by("Exists", "app", json!([])), true, "app"),
            (by("DoesNotExist", "app", json!([])), false, "!app"),
        ] {
            assert_eq!(selects(&selector, &labels), fits, "{selector}");
            assert_eq!(text(&selector), shown, "{selector}");
        }
    }
}
