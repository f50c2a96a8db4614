//! Serving over TCP.

use std::time::Duration;

use fakekube::{FakeKube, Fault, On, Rule, Server};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use crate::object;

async fn connected(fake: &FakeKube) -> (Server, Api<Node>) {
    let server = fake.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    fakekube::write_kubeconfig(&server, &file).unwrap();
    let read = Kubeconfig::read_from(&file).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let mut config = config.unwrap();
    config.default_retry = false;
    (server, Api::all(Client::try_from(config).unwrap()))
}

#[tokio::test]
async fn a_client_with_the_kubeconfig_creates_and_watches() {
    let fake = FakeKube::new(1);
    let (_server, api) = connected(&fake).await;
    let mut events = Box::pin(api.watch(&WatchParams::default(), "1").await.unwrap());
    api.create(&PostParams::default(), &object("a")).await.unwrap();
    let event = tokio::time::timeout(Duration::from_secs(10), events.next()).await.unwrap();
    assert!(matches!(event, Some(Ok(WatchEvent::Added(_)))), "{event:?}");
    fake.drop_watches(&On::watches());
    let event = tokio::time::timeout(Duration::from_secs(10), events.next()).await.unwrap();
    // The client takes a connection break between two events as the end of the watch.
    assert!(event.is_none(), "{event:?}");
}

#[tokio::test]
async fn a_lost_answer_closes_the_connection() {
    let fake = FakeKube::new(1);
    let (_server, api) = connected(&fake).await;
    let _ = fake.inject(Rule::new(On::mutations(), Fault::LostAfter).once());
    assert!(api.create(&PostParams::default(), &object("a")).await.is_err());
    assert!(api.get_opt("a").await.unwrap().is_some());
}

#[tokio::test]
async fn only_loopback_is_served() {
    let refused = FakeKube::new(1).serve(([0, 0, 0, 0], 0).into()).await;
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
