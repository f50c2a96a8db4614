//! Environment variables: validation, defaults, secrecy.

use super::*;

fn problem_with(variables: &[(&str, &str)]) -> ConfigError {
    open_with(variables, Script::default().transport()).unwrap_err()
}

#[test]
fn the_account_opens_without_any_variable_and_outside_a_runtime() {
    open_with(&[], Script::default().transport()).unwrap();
    open_with(&[("GCP_ACCESS_TOKEN", " ")], Script::default().transport()).unwrap();
}

#[test]
fn an_unusable_value_is_named_and_never_shown() {
    for (name, text) in [
        ("GCP_ACCESS_TOKEN", "canary key"),
        ("GCP_API_URL", "canary"),
        ("GCP_USER_AGENT", "canary\u{1}"),
        ("GOOGLE_CLOUD_PROJECT", "canary/project"),
        ("GCP_PROJECT", "Canary"),
    ] {
        let error = problem_with(&[(name, text)]);
        assert!(error.to_string().starts_with(name), "{error}");
        assert!(!format!("{error} {error:?}").contains("anary"), "{error:?}");
    }
}

#[tokio::test]
async fn values_reach_the_request_and_the_url_replaces_scheme_and_host() {
    let script = Script::default().then(200, page(&[]));
    let provider = script.open_with(&[
        ("GCP_API_URL", " http://127.0.0.1:8080/ "),
        ("GCP_USER_AGENT", "mine/1"),
        ("GCP_PROJECT", "other"),
    ]);
    assert_eq!(provider.read(ip()).await.unwrap(), None);
    let requests = script.requests.lock().unwrap();
    let url = requests[0].uri().to_string();
    let path = ADDRESS.replace("/p/", "/other/");
    assert_eq!(url, format!("http://127.0.0.1:8080{path}"));
    assert_eq!(requests[0].headers()["authorization"], format!("Bearer {TOKEN}").as_str());
    assert_eq!(requests[0].headers()["user-agent"], "mine/1");
}

#[tokio::test]
async fn the_default_is_googles_endpoint_and_the_first_project_counts() {
    let script = Script::default().then(200, page(&[]));
    let projects = [("GOOGLE_CLOUD_PROJECT", "p"), ("GCP_PROJECT", "other")];
    script.open_with(&projects).read(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[0].uri().to_string(), format!("https://compute.googleapis.com{ADDRESS}"));
}

#[test]
fn the_registry_says_that_no_variable_is_needed() {
    assert_eq!(VENDOR.credential.required(), None);
    assert!(VENDOR.credential.variables().contains(&"GCP_ACCESS_TOKEN"));
}
