//! Masks values that differ between servers.

use std::sync::LazyLock;

use regex::Regex;

static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4} \w+", "TIME"),
        (r#"(resourceVersion"?: *)"?\d+"?"#, "${1}VERSION"),
        (r"(Resource Version:\s+)\d+", "${1}VERSION"),
        (r"\b(\d+[smhdy]){1,2}\b|<invalid>", "AGE"),
        (r"https?://127\.0\.0\.1:\d+", "SERVER"),
        (r"/tmp/\S+", "FILE"),
        // How a client runs out of time depends on the load.
        (r"rate: Wait\(n=1\) would exceed context deadline", "context deadline exceeded"),
        (r"(?m)^(diff|[-+]{3}) .*$", "DIFF"),
        (r"made-[a-z0-9]{5}", "made-NAME"),
        (r" +", " "),
        (r"(?m) $", ""),
        (r"-{3,}", "---"),
    ]
    .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
    .into()
});

/// A text with all values masked that differ from run to run.
pub fn masked(text: &str) -> String {
    MASKS.iter().fold(text.to_owned(), |text, (pattern, name)| {
        pattern.replace_all(&text, *name).into_owned()
    })
}

#[test]
fn what_differs_is_masked_and_the_rest_stays() {
    assert_eq!(
        masked("a   5m  2024-01-01T00:00:00Z uid: 01234567-89ab-cdef-0123-456789abcdef\n"),
        "a AGE TIME uid: UID\n"
    );
    assert_eq!(masked("resourceVersion: \"12\""), "resourceVersion: VERSION");
    assert_eq!(masked("port 80 of s3"), "port 80 of s3");
}
