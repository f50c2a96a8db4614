//! What a broken watch goes on with.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::core::Status;

use super::script::{Reply, client, object};
use crate::observe::Selection;
use crate::observe::follow::{BackOff, Break, Event, follow};

/// What happens with these answers, in words, as far as `steps` go.
async fn told(steps: usize, replies: impl IntoIterator<Item = Reply>) -> Vec<String> {
    let api: Api<ConfigMap> = Api::all(client(replies));
    let events = follow(api, Selection::default()).take(steps);
    events.map(|event| event.map_or_else(|error| format!("break: {error}"), words)).collect().await
}

fn words(event: Event<ConfigMap>) -> String {
    let named = |verb: &str, object: ConfigMap| {
        format!("{verb} {}", object.metadata.name.unwrap_or_default())
    };
    match event {
        Event::Seen(object) => named("seen", object),
        Event::Gone(object) => named("gone", object),
        Event::Listing | Event::Answered | Event::Bookmark | Event::Listed => format!("{event:?}"),
    }
}

fn refused(code: u16) -> Break {
    Break::Failed(kube::Error::Api(Status::failure("no", "").with_code(code).boxed()))
}

const LIST: [&str; 4] = ["Listing", "Answered", "seen a", "Listed"];

#[tokio::test]
async fn a_watch_that_is_refused_lists_anew_and_so_shows_that_the_right_is_back() {
    let list = || Reply::list(&[object("a", "1")]);
    let told = told(9, [list(), Reply::refused(403), list()]).await;
    assert_eq!(told[..4], LIST);
    assert!(told[4].starts_with("break: "), "{told:?}");
    assert_eq!(told[5..], LIST);
}

#[tokio::test]
async fn a_watch_that_fails_otherwise_goes_on_from_its_version() {
    let replies = [Reply::list(&[object("a", "1")]), Reply::refused(500), Reply::watch(&[])];
    let told = told(6, replies).await;
    assert_eq!(told[..4], LIST);
    assert!(told[4].starts_with("break: "), "{told:?}");
    assert_eq!(told[5], "Answered", "of a watch, because a list would begin with Listing");
}

#[test]
fn the_pause_grows_while_lists_succeed_and_watches_are_refused() {
    let (mut back_off, mut before) = (BackOff::default(), Duration::ZERO);
    for _ in 0..4 {
        back_off.heed(&Event::<ConfigMap>::Listing);
        back_off.heed(&Event::<ConfigMap>::Listed);
        let pause = back_off.pause(&refused(403), 1.0);
        assert!(pause > before, "{pause:?}");
        before = pause;
    }
    back_off.heed(&Event::<ConfigMap>::Listed);
    back_off.heed(&Event::<ConfigMap>::Bookmark);
    assert!(back_off.pause(&refused(500), 1.0) < before, "the watch was heard");
}
