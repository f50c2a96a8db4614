//! The syntax of names, labels and annotations, with the API server's messages.

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FORMAT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const KEY_EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];

/// Violations of the syntax of a DNS label.
pub(super) fn dns1123_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "characters");
    if !is_label(text) {
        if is_subdomain(text) {
            wrong.push("must not contain dots".to_owned());
        } else {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            wrong.push(explained(rule, LABEL_FORMAT, &["my-name", "123-abc"]));
        }
    }
    wrong
}

/// Violations of the syntax of a DNS subdomain.
pub(super) fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253, "characters");
    if !is_subdomain(text) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        wrong.push(explained(rule, SUBDOMAIN_FORMAT, &["example.com"]));
    }
    wrong
}

/// Violations of the syntax of a DNS label that begins with a letter.
pub(super) fn dns1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "characters");
    if !is_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        wrong.push(explained(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    wrong
}

/// Violations of the syntax of a path segment.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|part| text.contains(part));
    forbidden.map(|part| format!("may not contain '{part}'")).collect()
}

/// Violations of the syntax of a label key. Also for annotation keys, after lowering.
pub(super) fn label_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let parts: Vec<_> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                let found = dns1123_subdomain(prefix).into_iter();
                let found = found.map(|what| what.replace("253 characters", "253 bytes"));
                wrong.extend(found.map(|what| format!("prefix part {what}")));
            }
            name
        }
        _ => {
            let rule = explained(KEY_RULE, KEY_FORMAT, &KEY_EXAMPLES);
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else {
        wrong.extend(too_long(name, 63, "bytes").iter().map(|what| format!("name part {what}")));
    }
    if !is_key_name(name) {
        wrong.push(format!("name part {}", explained(KEY_RULE, KEY_FORMAT, &KEY_EXAMPLES)));
    }
    wrong
}

/// Violations of the syntax of a label value.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "bytes");
    if !text.is_empty() && !is_key_name(text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let format = format!("({KEY_FORMAT})?");
        wrong.push(explained(rule, &format, &["MyValue", "my_value", "12345"]));
    }
    wrong
}

/// Violations of the syntax of a key in a ConfigMap or Secret.
pub(super) fn data_key(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253, "characters");
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.is_empty() || !text.chars().all(allowed) {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        wrong.push(explained(rule, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." => wrong.push("must not be '.'".to_owned()),
        ".." => wrong.push("must not be '..'".to_owned()),
        longer if longer.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// Checks a length in bytes. `unit` is the server's word for it, `bytes` or `characters`.
fn too_long(text: &str, max: usize, unit: &str) -> Vec<String> {
    let wrong = text.len() > max;
    wrong.then(|| format!("must be no more than {max} {unit}")).into_iter().collect()
}

pub(super) fn explained(rule: &str, format: &str, examples: &[&str]) -> String {
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let examples = examples.join(" or ");
    format!("{rule} (e.g. {examples}regex used for validation is '{format}')")
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.chars().all(inner)
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key_name(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    edge(text.chars().next()) && edge(text.chars().last()) && text.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_the_server_judges_them() {
        assert!(dns1123_label("a-1").is_empty());
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert!(dns1123_subdomain("a.b-c.d").is_empty());
        assert_eq!(dns1123_subdomain("A").len(), 1);
        assert_eq!(dns1035_label("1a").len(), 1);
        assert_eq!(path_segment("a/b"), ["may not contain '/'"]);
        assert!(label_key("example.com/Name_1").is_empty());
        assert_eq!(label_key("/x"), ["prefix part must be non-empty"]);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert!(label_value("").is_empty());
        assert_eq!(label_value("-x").len(), 1);
        assert!(data_key("a_B.c").is_empty());
        assert_eq!(data_key("..a"), ["must not start with '..'"]);
    }
}
