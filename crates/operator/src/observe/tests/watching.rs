//! The state of a watch in readiness.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use pontoon_core::Time;
use tokio::sync::mpsc;

use super::script::{Reply, client, object};
use crate::env::Env;
use crate::observe::hearing::Hearing;
use crate::observe::{Observation, Selection, Station, Watch, watch};

const NAME: &str = "ConfigMap";

/// A watch that we may do without.
struct Optional;

impl Watch for Optional {
    type Object = ConfigMap;

    fn name(&self) -> &str {
        NAME
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn restart(&mut self) {}

    fn seen(&mut self, _: ConfigMap) -> Option<Observation> {
        None
    }

    fn gone(&mut self, _: ConfigMap) -> Option<Observation> {
        None
    }

    fn listed(&mut self) -> Option<Observation> {
        None
    }
}

/// Watches with these answers until a condition on the readiness holds.
async fn until(
    replies: impl IntoIterator<Item = Reply>,
    holds: impl Fn(&Hearing, &AtomicU64) -> bool,
) {
    let (clock, hearing) = (Arc::<AtomicU64>::default(), Hearing::default());
    let time = Arc::clone(&clock);
    let elapsed = move || Duration::from_secs(time.load(Ordering::SeqCst));
    let env = Env::new(elapsed, Time::default(), fastrand::Rng::with_seed(1));
    let (to, _inbox) = mpsc::channel(1);
    hearing.begins(NAME, env.now());
    let station = Station { env, hearing: hearing.clone(), to };
    let api: Api<ConfigMap> = Api::all(client(replies));
    let condition = async {
        while !holds(&hearing, &clock) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = watch(api, Selection::default(), Optional, station) => panic!("a watch never ends"),
        () = condition => {}
    }
}

#[tokio::test]
async fn an_optional_watch_that_loses_its_right_is_broken() {
    let broken = Time::default() + Duration::from_secs(21);
    let replies = [Reply::list(&[]), Reply::refused(403), Reply::refused(403)];
    until(replies, |hearing, _| {
        hearing.trouble(broken).is_some_and(|said| said.contains("has been broken for 21 s"))
    })
    .await;
}

#[tokio::test]
async fn an_optional_watch_that_gets_its_right_back_is_heard_again() {
    let list = || Reply::list(&[object("a", "1")]);
    until([list(), Reply::refused(403), list()], |hearing, clock| {
        clock.store(1, Ordering::SeqCst);
        let at = Time::default() + Duration::from_secs(1);
        let heard = hearing.last_heard().first().and_then(|(_, heard)| *heard);
        heard == Some(at) && hearing.trouble(at).is_none()
    })
    .await;
}

#[tokio::test]
async fn an_optional_watch_without_its_right_from_the_start_is_no_trouble() {
    until([Reply::refused(403)], |hearing, _| hearing.last_heard().is_empty()).await;
}
