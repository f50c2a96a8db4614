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
