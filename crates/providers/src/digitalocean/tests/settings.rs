//! Environment variables: validation, defaults, secrecy.

use super::*;

fn problem_with(variables: &[(&str, &str)]) -> ConfigError {
    open_with(variables, Script::default().transport()).unwrap_err()
}

#[test]
fn without_a_token_the_variable_is_named() {
    for variables in [&[][..], &[("DIGITALOCEAN_ACCESS_TOKEN", " \n")]] {
        let error = problem_with(variables);
        assert_eq!(error.to_string(), "DIGITALOCEAN_ACCESS_TOKEN is not set");
    }
}

#[test]
fn an_unusable_token_is_named_and_never_shown() {
    for token in ["canary\u{7}key", "canary key", "canary\nkey", "canärykey"] {
        let error = problem_with(&[("DIGITALOCEAN_ACCESS_TOKEN", token)]);
        let ConfigError::Unusable { variable, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*variable, "DIGITALOCEAN_ACCESS_TOKEN");
        assert!(!format!("{error} {error:?}").contains("can"), "{error:?}");
    }
}

#[test]
fn an_unusable_url_is_named_and_never_shown() {
    let unusable = [
        "canary",
        "/canary",
        "canary.example.com",
        "https://canary:secret@example.com",
        "https://example.com/?canary=1",
        "ftp://canary.example.com",
        "https://exa mple.com/canary",
        "https://",
    ];
    for url in unusable {
        let error =
            problem_with(&[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN), ("DIGITALOCEAN_API_URL", url)]);
        assert!(error.to_string().starts_with("DIGITALOCEAN_API_URL "), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    }
}

#[test]
fn an_unusable_user_agent_or_project_is_named() {
    for name in ["DIGITALOCEAN_USER_AGENT", "DIGITALOCEAN_PROJECT_ID"] {
        let error = problem_with(&[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN), (name, "a\u{1}b")]);
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

#[tokio::test]
async fn values_are_trimmed_and_reach_the_request() {
    let script = Script::default().then(404, not_found());
    let variables = [
        ("DIGITALOCEAN_ACCESS_TOKEN", "  dop_v1_x\n"),
        ("DIGITALOCEAN_API_URL", " http://127.0.0.1:8080/api/ "),
        ("DIGITALOCEAN_USER_AGENT", " mine/1 "),
    ];
    open_with(&variables, script.transport()).unwrap().addresses.unwrap().read(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    assert_eq!(
        requests[0].uri().to_string(),
        "http://127.0.0.1:8080/api/v2/reserved_ips/45.55.96.47"
    );
    assert_eq!(requests[0].headers()["authorization"], "Bearer dop_v1_x");
    assert_eq!(requests[0].headers()["user-agent"], "mine/1");
}

#[tokio::test]
async fn the_defaults_are_the_vendors_endpoint_and_our_name() {
    let script = Script::default().then(404, not_found());
    script.open().read(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[0].uri().host(), Some("api.digitalocean.com"));
    assert_eq!(requests[0].uri().scheme_str(), Some("https"));
    let name = format!("pontoon/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(requests[0].headers()["user-agent"], name.as_str());
}

#[test]
fn plain_http_will_do_if_the_administrator_says_so() {
    for url in ["http://localhost:1", "http://[::1]:1", "http://10.0.0.5:8080", "http://fake/"] {
        let variables = [("DIGITALOCEAN_ACCESS_TOKEN", TOKEN), ("DIGITALOCEAN_API_URL", url)];
        open_with(&variables, Script::default().transport()).unwrap();
    }
}
