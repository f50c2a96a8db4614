//! Robustness against any answer: no call panics, every call ends, no result claims more than the
//! answers say, and no error shows the token.
//!
//! `tests/corpus/digitalocean` holds answers, each in its own file: status, headers, an empty line,
//! body. Every call gets every answer, and mutations start from them. A newly found failure becomes
//! a new file.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod call;
mod corpus;
mod exchange;
mod odd;
mod truth;

use std::time::Duration;

use proptest::prelude::*;

use call::{Call, calls};
use exchange::{Exchange, Reply};

/// Runs a call under a paused clock, and checks its result against the answers.
fn check(call: &Call, replies: Vec<Reply>) {
    let exchange = Exchange::of(replies);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let result = runtime.block_on(async {
        let day = Duration::from_secs(24 * 3600);
        tokio::time::timeout(day, call.run(exchange.transport())).await.expect("it never ends")
    });
    truth::check(call, &result, &exchange.log());
}

#[test]
fn no_answer_of_the_corpus_makes_a_call_panic_or_lie() {
    let refusals = ["refused", "refused-pending-event", "not-found", "action-errored"];
    let beginnings = ["list-v4-more", "one-v6-free", "throttled"];
    let first: Vec<_> =
        refusals.iter().chain(&beginnings).map(|name| corpus::answer(name)).collect();
    for answer in corpus::answers().into_values() {
        for call in calls() {
            check(&call, vec![Reply::Answer(answer.clone())]);
            check(&call, vec![Reply::Fresh(answer.clone())]);
            for first in &first {
                let replies = [first, &answer].map(|one| Reply::Answer(one.clone()));
                check(&call, replies.into());
            }
        }
    }
}

#[test]
fn a_listing_that_never_ends_is_given_up() {
    let page = corpus::answer("next-for-ever");
    for call in calls().iter().filter(|call| matches!(call, Call::List(_))) {
        check(call, vec![Reply::Fresh(page.clone())]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_answer_whatever_makes_a_call_panic_or_lie(
        call in proptest::sample::select(calls()),
        replies in odd::replies(),
    ) {
        check(&call, replies);
    }
}
