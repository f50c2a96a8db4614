//! Blindness of the operator: connections that die in silence, and pods that no object selects.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fakekube::{Fault, On as Calls, Rule};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::arena::{ApiServer, Arena, NAMESPACE, On, eventually, on_both};
use crate::replica::Replica;

const IP: &str = "198.51.100.1";

async fn on_droplet(arena: &Arena, droplet: u64) {
    eventually(&format!("on droplet {droplet}"), || async {
        let holder = arena.cloud.holder(IP.parse::<IpAddr>().unwrap());
        if holder == Some(droplet) { Ok(()) } else { Err(holder) }
    })
    .await;
}

/// A proxy between the operator and the API server that forwards until told to swallow.
struct Proxy {
    port: u16,
    /// Tells existing connections to swallow.
    swallows: Arc<watch::Sender<()>>,
}

impl Proxy {
    async fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let swallows = Arc::new(watch::Sender::new(()));
        let of = swallows.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let (near_in, near_out) = near.into_split();
                let (far_in, far_out) = far.into_split();
                tokio::spawn(forward(near_in, far_out, of.subscribe()));
                tokio::spawn(forward(far_in, near_out, of.subscribe()));
            }
        });
        Self { port, swallows }
    }

    /// Makes existing connections swallow all data in both directions, without FIN or RST. New
    /// connections are forwarded.
    fn swallows_what_is_connected(&self) {
        self.swallows.send_replace(());
    }
}

async fn forward(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut swallows: watch::Receiver<()>,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            biased;
            _ = swallows.changed() => std::future::pending().await,
            read = from.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(read) => if to.write_all(&buffer[..read]).await.is_err() { return },
            },
        }
    }
}

/// The arena's kubeconfig, pointed at the proxy.
async fn through_a_proxy(arena: &Arena) -> (Proxy, PathBuf) {
    let text = std::fs::read_to_string(arena.kubeconfig()).unwrap();
    let (_, rest) = text.split_once("https://127.0.0.1:").unwrap();
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let proxy = Proxy::before(port.parse().unwrap()).await;
    let (from, to) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", proxy.port));
    let file = arena.folder().join("through-a-proxy");
    std::fs::write(&file, text.replace(&from, &to)).unwrap();
    (proxy, file)
}

/// On the real API server, because only that server speaks HTTP/2, with its pings.
#[tokio::test]
async fn a_connection_that_dies_in_silence_is_replaced_and_what_it_missed_is_seen() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.pool("ingress", json!({"ips": [IP]})).await;
    let (proxy, file) = through_a_proxy(&arena).await;
    let replica = Replica::start(&arena, "blind", &["--kubeconfig", file.to_str().unwrap()]);
    arena.ready("ingress").await;
    proxy.swallows_what_is_connected();
    let dead = Instant::now();
    arena.set_ready("a", false).await;
    on_droplet(&arena, 2).await;
    // A ping after 3 s without data, 3 s for its answer, then a new connection. Without pings the
    // silence of a watch would tell, after 80 s.
    assert!(dead.elapsed() < Duration::from_secs(20), "{:?}", dead.elapsed());
    arena.marked("b", Some(IP)).await;
    replica.metric("pontoon_leader", "1").await;
}

/// On the in-memory API server, which can be told not to answer.
#[tokio::test]
async fn a_list_that_is_never_answered_is_asked_for_again_and_not_ready_says_which() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": [IP]})).await;
    let ApiServer::Fake { kube, .. } = &arena.server else { return };
    let hangs = Fault::DelayBefore(Duration::from_secs(3600));
    // Of the Leases: the list of our own, and that of the predecessor's, which nothing is done before.
    let leases = "/apis/coordination.k8s.io/v1/namespaces/*/leases";
    let rules = [("/api/v1/nodes", 1), (leases, 2)].map(|(path, times)| {
        let rule = Rule::new(Calls::call("GET", path), hangs.clone()).times(times);
        (kube.inject(rule), times)
    });
    let replica = arena.replica("patient");
    eventually("the replica says what it lacks", || async {
        let page = replica.page("/readyz").await.unwrap_or_default();
        let said = page.starts_with("HTTP/1.1 503")
            && page.contains("the watch of Node has not read its list yet")
            && page.contains("the watch of Lease ");
        if said { Ok(()) } else { Err(page) }
    })
    .await;
    arena.ready("ingress").await;
    let page = replica.page("/readyz").await.unwrap_or_default();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for (rule, times) in rules {
        assert_eq!(kube.hits(rule), times, "lists that were not answered");
    }
}

async fn pods_are_watched_while_an_object_asks_for_them(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.record();
    let any_node = json!({"nodeLabel": "pool=edge"});
    let spec = json!({"provider": "digitalocean", "ips": [IP], "match": any_node});
    arena.raw_pool("ingress", spec).await;
    let replica = arena.replica("frugal");
    arena.marked("a", Some(IP)).await;
    hears_pods(&replica, false).await;

    let with_pods =
        json!({"nodeLabel": "pool=edge", "podLabel": "app=ingress", "podNamespace": NAMESPACE});
    arena.edit("ingress", json!({"match": with_pods})).await;
    arena.marked("b", Some(IP)).await;
    hears_pods(&replica, true).await;

    let no_pods = json!({"nodeLabel": "pool=edge", "podLabel": null, "podNamespace": null});
    arena.edit("ingress", json!({"match": no_pods})).await;
    hears_pods(&replica, false).await;
    assert_eq!(arena.cloud.mutations().len(), 2, "one for each place");
    let asked = arena.reads("pods");
    let those = format!("/api/v1/namespaces/{NAMESPACE}/pods?");
    let only =
        |uri: &String| uri.starts_with(&those) && uri.contains("labelSelector=app%3Dingress");
    assert!(!asked.is_empty() && asked.iter().all(only), "no other pods: {asked:#?}");
}

/// Waits until the metrics show a watch of pods, or no such watch, besides the watch of nodes.
async fn hears_pods(replica: &Replica, hears: bool) {
    eventually(&format!("pods are watched: {hears}"), || async {
        let page = replica.page("/metrics").await.unwrap_or_default();
        let heard = |kind: &str| {
            let series = format!("pontoon_watch_last_heard_timestamp_seconds{{kind=\"{kind}\"}}");
            page.lines().any(|line| line.starts_with(&series) && !line.ends_with(" 0"))
        };
        if heard("Node") && heard("Pod") == hears { Ok(()) } else { Err(page.clone()) }
    })
    .await;
}

on_both! {
    pods_are_watched_while_an_object_asks_for_them,
}
