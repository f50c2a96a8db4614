//! The version, or the list, from which a broken watch goes on.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::core::Status;

use super::script::{Reply, changed, client, object, undecodable};
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

#[tokio::test]
async fn an_event_that_cannot_be_decoded_breaks_the_watch_and_leads_to_a_new_list() {
    let list = || Reply::list(&[object("a", "1")]);
    let events = [changed(&object("b", "2")), changed(&undecodable())];
    let told = told(11, [list(), Reply::watch(&events), list()]).await;
    assert_eq!(told[..6], [&LIST[..], &["Answered", "seen b"]].concat());
    assert_eq!(told[6], "break: an answer that cannot be decoded: an event of a watch");
    assert_eq!(told[7..], LIST);
}

#[tokio::test]
async fn a_list_that_cannot_be_decoded_breaks_and_is_read_anew() {
    let list = Reply::list(&[object("a", "1")]);
    let told = told(8, [Reply::list(&[undecodable()]), Reply::html(), list]).await;
    for at in [1, 3] {
        assert!(told[at].starts_with("break: an answer that cannot be decoded: "), "{told:?}");
    }
    assert_eq!(told[4..], LIST);
}

#[tokio::test]
async fn a_watch_that_answers_with_a_page_for_people_leads_to_a_new_list() {
    let list = || Reply::list(&[object("a", "1")]);
    let told = told(10, [list(), Reply::html(), list()]).await;
    assert_eq!(told[4], "Answered");
    assert!(told[5].starts_with("break: an answer that cannot be decoded: "), "{told:?}");
    assert_eq!(told[6..], LIST);
}

#[test]
fn a_list_that_cannot_be_decoded_is_not_read_again_at_once() {
    let (mut back_off, mut before) = (BackOff::default(), Duration::ZERO);
    for _ in 0..4 {
        back_off.heed(&Event::<ConfigMap>::Listing);
        let pause = back_off.pause(&Break::Undecodable(String::new()), 1.0);
        assert!(pause > before, "{pause:?}");
        before = pause;
    }
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
