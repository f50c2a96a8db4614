//! Tokens of Google's usual sources. The metadata server is one on this machine.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use google_cloud_auth::credentials::{
    AccessToken, AccessTokenCredentials, AccessTokenCredentialsProvider, CacheableResource,
    CredentialsProvider, mds,
};
use google_cloud_auth::errors::CredentialsError;
use http::{Extensions, HeaderMap};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::credential::{Credential, Line, Refreshed};
use crate::gcp::credential::Chain;
use crate::vendor::Clock;

const PATIENCE: Duration = Duration::from_secs(5);

/// A source with one answer, which it repeats. Without any, it is silent.
#[derive(Debug)]
struct Prepared(Option<Result<&'static str, CredentialsError>>);

impl CredentialsProvider for Prepared {
    async fn headers(
        &self,
        _: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        unreachable!("tokens are asked for alone")
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

impl AccessTokenCredentialsProvider for Prepared {
    async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
        match self.0.clone() {
            Some(answer) => answer.map(|token| AccessToken { token: token.into() }),
            None => pending().await,
        }
    }
}

/// A chain that is built with one answer at a time, and the number of times it was built.
fn chain(
    answers: Vec<Result<&'static str, CredentialsError>>,
) -> (Refreshed<Chain>, Arc<AtomicUsize>) {
    let answers = Mutex::new(answers.into_iter().rev().collect::<Vec<_>>());
    let built = Arc::new(AtomicUsize::new(0));
    let counted = built.clone();
    let build = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(AccessTokenCredentials::from(Prepared(answers.lock().unwrap().pop())))
    };
    (Refreshed::new(Chain::new(build, PATIENCE)), built)
}

async fn token(credential: &Refreshed<Chain>) -> Result<String> {
    let transport = Script::default().transport();
    let clock = Clock::new(|| SystemTime::UNIX_EPOCH);
    let line = Line { transport: &transport, clock: &clock, priority: Priority::Housekeeping };
    credential.token(&line).await.map(|token| token.expose().to_owned())
}

#[tokio::test(start_paused = true)]
async fn nothing_is_built_before_the_first_token_is_needed_and_then_once() {
    let (credential, built) = chain(vec![Ok("ya29.first")]);
    assert_eq!(built.load(Ordering::SeqCst), 0);
    for _ in 0..3 {
        assert_eq!(token(&credential).await.unwrap(), "ya29.first");
    }
    assert_eq!(built.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_google_refuses_is_not_given_again() {
    let (credential, built) = chain(vec![Ok("ya29.revoked"), Ok("ya29.second")]);
    assert_eq!(token(&credential).await.unwrap(), "ya29.revoked");
    tokio::time::sleep(Duration::from_secs(5)).await;
    credential.refused();
    assert_eq!(token(&credential).await.unwrap(), "ya29.second");
    assert_eq!(built.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn the_chain_is_kept_and_asked_again_each_half_minute() {
    let (credential, built) = chain(vec![Ok("ya29.first")]);
    for _ in 0..2 {
        assert_eq!(token(&credential).await.unwrap(), "ya29.first");
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert_eq!(token(&credential).await.unwrap(), "ya29.first");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(built.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_what_to_do_and_the_next_call_tries_all_sources_again() {
    let refused = CredentialsError::from_msg(false, "the service account does not exist");
    let (credential, built) = chain(vec![Err(refused), Ok("ya29.second")]);
    let error = token(&credential).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    for words in ["does not exist", "workload identity", "GOOGLE_APPLICATION_CREDENTIALS"] {
        assert!(error.message.contains(words), "{error}");
    }
    assert_eq!(token(&credential).await.unwrap(), "ya29.second");
    assert_eq!(built.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_for_now_or_is_silent_means_that_nothing_was_sent() {
    let failed = CredentialsError::from_msg(true, "connection refused");
    let (credential, _) = chain(vec![Err(failed)]);
    assert_eq!(token(&credential).await.unwrap_err().kind, ErrorKind::NotSent);
    let start = tokio::time::Instant::now();
    let error = token(&credential).await.unwrap_err();
    assert_eq!((error.kind, start.elapsed()), (ErrorKind::NotSent, PATIENCE));
    assert!(error.message.contains("GCP_ACCESS_TOKEN"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn neither_debug_output_nor_a_message_shows_a_token() {
    let (credential, _) = chain(vec![Ok("ya29.canary")]);
    token(&credential).await.unwrap();
    assert!(!format!("{credential:?}").contains("canary"));
    assert_eq!(credential.strike_from("it is ya29.canary"), "it is [token]");
}

/// A metadata server that gives out one token, and tells what it was asked.
async fn metadata_server() -> (String, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 4096];
        let length = stream.read(&mut bytes).await.unwrap();
        let body = r#"{"access_token":"ya29.metadata","expires_in":3600,"token_type":"Bearer"}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        String::from_utf8_lossy(&bytes[..length]).to_lowercase()
    });
    (url, asked)
}

#[tokio::test]
async fn the_metadata_server_gives_a_token_for_computing() {
    let (url, asked) = metadata_server().await;
    let build = move || {
        drop(rustls::crypto::ring::default_provider().install_default());
        mds::Builder::default()
            .with_endpoint(url.clone())
            .with_scopes(["https://www.googleapis.com/auth/compute"])
            .build_access_token_credentials()
            .map_err(|error| Error::new(ErrorKind::Unauthorized, error.to_string()))
    };
    let credential = Refreshed::new(Chain::new(build, Duration::from_secs(60)));
    assert_eq!(token(&credential).await.unwrap(), "ya29.metadata");
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("get /computemetadata/v1/instance/service-accounts/default/token"));
    assert!(asked.contains("metadata-flavor: google"), "{asked}");
}
