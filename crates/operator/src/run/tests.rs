//! Which connection a request takes.

use std::sync::{Arc, Mutex};

use fakekube::FakeKube;
use http::Request;
use kube::client::Body;
use tower::ServiceExt;

use super::*;

/// The paths of the requests of a client.
type Asked = Arc<Mutex<Vec<String>>>;

fn client(kube: &FakeKube, asked: &Asked) -> Client {
    let asked = Arc::clone(asked);
    let service = kube.service().map_request(move |request: Request<Body>| {
        asked.lock().unwrap().push(request.uri().path().to_owned());
        request
    });
    Client::new(service, "default")
}

fn options() -> Options {
    Options {
        namespace: "pontoon".to_owned(),
        name: "a".to_owned(),
        pod: None,
        predecessors: Vec::new(),
        leader_elect: true,
        mode: Mode::Active,
        timing: Timing::default(),
        provider_timeout: Duration::from_secs(5),
        retry_initial: Duration::from_secs(1),
        retry_max: Duration::from_secs(300),
        controllers: Controllers::default(),
        vips: VipOptions::default(),
        policy: None,
    }
}

#[tokio::test]
async fn leases_have_a_connection_of_their_own() {
    let (kube, rest, leases) = (FakeKube::new(1), Asked::default(), Asked::default());
    let (stop, stopped) = watch::channel(false);
    let surroundings = Surroundings {
        client: client(&kube, &rest),
        leases: client(&kube, &leases),
        transport: Box::new(pontoon_providers::https),
        variable: Box::new(|_| None),
        env: Env::real(),
        metrics: Metrics::new().unwrap(),
        health: Health::default(),
        board: Board::default(),
        stop: stopped,
    };
    let replica = tokio::spawn(run(options(), surroundings));
    let is_asked =
        |asked: &Asked, part: &str| asked.lock().unwrap().iter().any(|path| path.contains(part));
    while !is_asked(&leases, "/leases/pontoon") || !is_asked(&rest, "/customresource") {
        tokio::task::yield_now().await;
    }
    stop.send_replace(true);
    replica.await.unwrap();
    assert!(leases.lock().unwrap().iter().all(|path| path.contains("/leases")));
    assert!(!is_asked(&rest, "/leases"));
}
