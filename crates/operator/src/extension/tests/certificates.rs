use std::sync::Arc;

use tokio::net::TcpListener;

use super::super::certificate::Certificate;
use super::super::server::serve;
use super::{Pair, Stage, eventually, extension, limits};

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let mut stage = Stage::open().await;
    assert_eq!(stage.send("GET", "/", b"").await.0, 200);
    let next = Pair::new();
    assert!(next.connect(stage.address).await.is_err(), "the new certificate is not there yet");
    next.write(stage.folder.path());
    eventually("the new certificate is shown", async || next.connect(stage.address).await.ok())
        .await;
    assert!(stage.pair.connect(stage.address).await.is_err(), "the old certificate is gone");
    stage.pair = next;
    assert_eq!(stage.send("GET", "/", b"").await.0, 200);
}

#[tokio::test]
async fn a_broken_pair_leaves_the_last_usable_one_in_place() {
    let stage = Stage::open().await;
    let (chain, key) = (stage.folder.path().join("tls.crt"), stage.folder.path().join("tls.key"));
    let certificate = Certificate::in_folder(stage.folder.path());
    certificate.read();
    let served = certificate.chain_in_use();
    assert!(served.is_some());
    let other = Pair::new();
    // Half of a rotation: the key of another certificate.
    std::fs::write(&key, &other.key).unwrap();
    certificate.read();
    assert_eq!(certificate.chain_in_use(), served);
    for (chain_text, key_text) in
        [("", ""), ("not PEM", other.key.as_str()), (other.chain.as_str(), "")]
    {
        std::fs::write(&chain, chain_text).unwrap();
        std::fs::write(&key, key_text).unwrap();
        certificate.read();
        assert_eq!(certificate.chain_in_use(), served);
    }
    std::fs::remove_file(&chain).unwrap();
    certificate.read();
    assert_eq!(certificate.chain_in_use(), served);
    other.write(stage.folder.path());
    certificate.read();
    assert_ne!(certificate.chain_in_use(), served);
}

#[tokio::test]
async fn a_server_without_a_certificate_waits_for_one() {
    let (pair, folder) = (Pair::new(), tempfile::tempdir().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = Arc::new(Certificate::in_folder(folder.path()));
    let serving = tokio::spawn(serve(listener, Arc::new(extension()), certificate, limits()));
    assert!(pair.connect(address).await.is_err());
    pair.write(folder.path());
    eventually("the certificate is shown", async || pair.connect(address).await.ok()).await;
    serving.abort();
}

#[test]
fn the_key_is_not_in_debug_output() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::new();
    pair.write(folder.path());
    let certificate = Certificate::in_folder(folder.path());
    certificate.read();
    let shown = format!("{certificate:?}");
    assert!(shown.contains("tls.crt") && !shown.contains("PRIVATE"), "{shown}");
}
