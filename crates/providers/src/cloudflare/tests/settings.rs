//! Environment variables: validation, defaults, secrecy.

use super::*;

#[test]
fn every_variable_is_named_when_it_is_missing_or_unusable_and_never_shown() {
    for (name, value) in [
        ("CLOUDFLARE_TOKEN", " "),
        ("CLOUDFLARE_TOKEN", "can ary"),
        ("CLOUDFLARE_API_URL", "ftp://canary.example.com"),
        ("CLOUDFLARE_USER_AGENT", "canary\u{1}"),
    ] {
        let mut variables = vec![(name, value)];
        variables.push(("CLOUDFLARE_TOKEN", TOKEN));
        let error = with_variables(&variables, |s| open(s, Script::default().transport()));
        let error = error.unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
        assert!(!format!("{error:?}").contains("can"), "{error:?}");
    }
}

#[tokio::test]
async fn the_defaults_are_the_vendors_endpoint_and_our_name() {
    let script = Script::default().then(200, listing(&[]));
    open_on(script.transport()).list(&place(), A).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let (uri, headers) = (requests[0].uri(), requests[0].headers());
    assert_eq!((uri.scheme_str(), uri.host()), (Some("https"), Some("api.cloudflare.com")));
    assert!(uri.path().starts_with("/client/v4/zones/"), "{uri}");
    let name = format!("pontoon/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(headers["user-agent"], name.as_str());
    assert_eq!(headers["authorization"], format!("Bearer {TOKEN}").as_str());
    assert!(!format!("{:?}", requests[0]).contains(TOKEN));
}

#[tokio::test]
async fn the_endpoint_and_the_name_can_be_set() {
    let script = Script::default().then(200, listing(&[]));
    let variables = [
        ("CLOUDFLARE_TOKEN", TOKEN),
        ("CLOUDFLARE_API_URL", "http://127.0.0.1:9/client/v4/"),
        ("CLOUDFLARE_USER_AGENT", "mine/1"),
    ];
    let provider = with_variables(&variables, |s| opened(s, script.transport()));
    provider.list(&place(), A).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let expected = format!("http://127.0.0.1:9/client/v4/zones/{ZONE_ID}/dns_records");
    assert!(requests[0].uri().to_string().starts_with(&expected), "{}", requests[0].uri());
    assert_eq!(requests[0].headers()["user-agent"], "mine/1");
}
