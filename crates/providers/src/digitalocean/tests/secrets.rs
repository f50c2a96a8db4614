//! The token is shown nowhere.

use super::*;

#[tokio::test]
async fn no_formatting_shows_the_token() {
    let script = Script::default().then(404, not_found());
    let provider = script.open();
    provider.read(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[0].headers()["authorization"], format!("Bearer {TOKEN}").as_str());
    assert!(!format!("{provider:?} {:?}", requests[0]).contains("canary"));
}

#[tokio::test]
async fn a_server_that_echoes_the_token_does_not_get_it_shown() {
    let script = Script::default().then(401, problem("unauthorized", &format!("bad {TOKEN}!")));
    let error = script.open().read(ip()).await.unwrap_err();
    assert_eq!((error.kind, &error.message[..]), (ErrorKind::Unauthorized, "bad [token]!"));
    let pieces = format!("bad {}\u{7}{}", &TOKEN[..9], &TOKEN[9..]);
    let script = Script::default().then(401, problem("unauthorized", &pieces));
    assert_eq!(script.open().read(ip()).await.unwrap_err().message, "bad [token]");
}

#[tokio::test]
async fn after_a_refusal_the_file_with_the_token_is_read_before_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "canary-1").unwrap();
    let script = Script::default().then(401, problem("unauthorized", "no")).then(404, not_found());
    let variables = [("DIGITALOCEAN_ACCESS_TOKEN_FILE", path.to_str().unwrap())];
    let account = open_with(&variables, script.transport()).unwrap();
    let addresses = account.addresses.unwrap();
    addresses.read(ip()).await.unwrap_err();
    std::fs::write(&path, "canary-2").unwrap();
    addresses.read(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let sent: Vec<_> = requests.iter().map(|one| one.headers()["authorization"].clone()).collect();
    assert_eq!(sent, ["Bearer canary-1", "Bearer canary-2"]);
    assert_eq!(account.credential.look(), crate::Looked::Renewed, "told all the same");
}
