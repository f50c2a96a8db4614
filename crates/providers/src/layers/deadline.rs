//! The hard deadline of a call.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::time::{Instant, sleep_until};
use tower::{ServiceExt, service_fn};

use crate::transport::{Transport, TransportError};

/// Limits every request of `transport` to `limit`, from the first poll to the last byte of the
/// answer.
///
/// After the deadline the request is dropped and fails with [`NoAnswer`](TransportError::NoAnswer).
/// The clock is checked before each poll, so a process suspended past the deadline does not
/// continue the request: bytes not yet handed to the connection are never sent.
pub fn within(transport: Transport, limit: Duration) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let transport = transport.clone();
        async move {
            let deadline = Instant::now() + limit;
            let mut timer = pin!(sleep_until(deadline));
            let mut answer = pin!(transport.oneshot(request));
            poll_fn(|cx| {
                if Instant::now() >= deadline || timer.as_mut().poll(cx).is_ready() {
                    let words = format!("none within {limit:?}");
                    return Poll::Ready(Err(TransportError::NoAnswer(words)));
                }
                answer.as_mut().poll(cx)
            })
            .await
        }
    }))
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn takes(time: Duration) -> Transport {
        Transport::new(service_fn(move |_: Request<Bytes>| async move {
            tokio::time::sleep(time).await;
            Ok(Response::new(Bytes::new()))
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_passes() {
        let transport = within(takes(Duration::from_secs(4)), Duration::from_secs(5));
        transport.oneshot(Request::default()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_is_no_answer_and_comes_exactly_at_the_deadline() {
        let start = Instant::now();
        let transport = within(takes(Duration::from_secs(6)), Duration::from_secs(5));
        let error = transport.oneshot(Request::default()).await.unwrap_err();
        assert_eq!(error, TransportError::NoAnswer("none within 5s".into()));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_slept_through_is_not_gone_on_with() {
        let polls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = polls.clone();
        let inner = Transport::new(service_fn(move |_: Request<Bytes>| {
            let counted = counted.clone();
            poll_fn(move |_| {
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Poll::<Result<Response<Bytes>, TransportError>>::Pending
            })
        }));
        let mut call = pin!(within(inner, Duration::from_secs(5)).oneshot(Request::default()));
        let nudge = |call: std::pin::Pin<&mut _>| {
            Future::poll(call, &mut std::task::Context::from_waker(std::task::Waker::noop()))
        };
        assert!(nudge(call.as_mut()).is_pending());
        tokio::time::advance(Duration::from_secs(30)).await;
        let Poll::Ready(Err(_)) = nudge(call) else { panic!("still going") };
        assert_eq!(polls.load(std::sync::atomic::Ordering::SeqCst), 1);
    }
}
