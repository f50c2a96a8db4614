//! Opens a new connection to the API server when the old one answers pings and no requests.
//!
//! An API server whose storage hangs, or a proxy before one, keeps a connection alive and answers no
//! request. Each request ends at its deadline, and the next one would go over the same connection: a load
//! balancer, which may know a better server, is asked for new connections only. Leases have a connection
//! of their own, so that a leader whose other connection hangs would lead on without seeing anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use tokio::sync::watch;
use tower::{BoxError, Service, ServiceExt};

/// Age from which a request that ends without an answer counts. The shortest deadline, that of a request
/// for a Lease, is 5 s by default.
const UNANSWERED: Duration = Duration::from_secs(4);

/// Silence after which a watch that ends counts. Bookmarks come about once a minute.
const SILENT: Duration = Duration::from_secs(70);

/// Number of requests and watches without an answer, one after the other, that show a hanging server.
const HANGS: u32 = 2;

/// Monotonic time.
pub(super) type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// A client whose connection is replaced when it hangs. Watches over the old connection end then, and
/// start again over the new one.
pub(super) struct Renewed<S> {
    open: Box<dyn Fn() -> S + Send + Sync>,
    /// The current client, and the number of its connection.
    current: Mutex<(S, u64)>,
    connection: Arc<Connection>,
}

/// What is known of the connection.
struct Connection {
    now: Clock,
    /// Number of the current connection.
    number: watch::Sender<u64>,
    /// Requests and watches without an answer since the last answer.
    unanswered: Mutex<u32>,
}

impl<S, B> Renewed<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: BodyExt<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    pub fn new(open: impl Fn() -> S + Send + Sync + 'static, now: Clock) -> Arc<Self> {
        let (number, unanswered) = (watch::Sender::new(0), Mutex::new(0));
        let connection = Arc::new(Connection { now, number, unanswered });
        Arc::new(Self { current: Mutex::new((open(), 0)), open: Box::new(open), connection })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Those of the client.
    pub async fn ask(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError> {
        let watches = is_watch(&request);
        let (client, number) = self.current();
        let waiting = Waiting::begin(&self.connection, number, UNANSWERED);
        let answer = client.oneshot(request).await;
        waiting.end();
        let answer = answer.map_err(Into::into)?;
        if watches {
            Ok(answer.map(|body| heard(body, &self.connection, number)))
        } else {
            self.connection.answered(number);
            Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
        }
    }

    /// The current client with the number of its connection, after a hanging one was replaced.
    fn current(&self) -> (S, u64) {
        let mut current = lock(&self.current);
        let number = *self.connection.number.borrow();
        if current.1 != number {
            *current = ((self.open)(), number);
        }
        current.clone()
    }
}

fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|one| one == "watch=true"))
}

/// The events of a watch, which end when the connection is replaced. Each event shows that the server
/// works; the start of a watch may be answered from a copy that no longer changes.
fn heard<B>(body: B, connection: &Arc<Connection>, number: u64) -> UnsyncBoxBody<Bytes, BoxError>
where
    B: BodyExt<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let mut waiting = Waiting::begin(connection, number, SILENT);
    let mut numbers = connection.number.subscribe();
    let replaced = async move {
        // Without a sender nobody replaces a connection any more, and the watch ends too.
        let _ = numbers.wait_for(|current| *current != number).await;
    };
    let frames = TryStreamExt::map_err(BodyStream::new(body), Into::into);
    let frames = frames.inspect_ok(move |_| waiting.goes_on());
    StreamBody::new(frames.take_until(Box::pin(replaced))).boxed_unsync()
}

/// A wait for an answer. A wait that is given up after its limit counts.
struct Waiting {
    connection: Arc<Connection>,
    number: u64,
    since: Duration,
    limit: Duration,
}

impl Waiting {
    fn begin(connection: &Arc<Connection>, number: u64, limit: Duration) -> Self {
        let since = (connection.now)();
        Self { connection: Arc::clone(connection), number, since, limit }
    }

    fn goes_on(&mut self) {
        self.since = (self.connection.now)();
        self.connection.answered(self.number);
    }

    fn end(mut self) {
        self.limit = Duration::MAX;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if (self.connection.now)().saturating_sub(self.since) >= self.limit {
            self.connection.gave_no_answer(self.number);
        }
    }
}

impl Connection {
    fn answered(&self, number: u64) {
        if *self.number.borrow() == number {
            *lock(&self.unanswered) = 0;
        }
    }

    fn gave_no_answer(&self, number: u64) {
        let mut unanswered = lock(&self.unanswered);
        if *self.number.borrow() != number {
            return;
        }
        *unanswered += 1;
        if *unanswered >= HANGS {
            *unanswered = 0;
            tracing::warn!("the API server does not answer: a new connection is opened");
            self.number.send_modify(|number| *number += 1);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::FutureExt;
    use futures::stream;
    use http_body_util::Full;
    use tower::service_fn;
    use tower::util::BoxCloneSyncService;

    use super::*;

    const HANGS: &str = "/hangs";
    const READ: &str = "/api/v1/nodes";
    const WATCH: &str = "/api/v1/nodes?allowWatchBookmarks=true&watch=true";

    type Events = UnsyncBoxBody<Bytes, Infallible>;
    type Client = BoxCloneSyncService<Request<Body>, Response<Events>, Infallible>;

    struct Stage {
        renewed: Arc<Renewed<Client>>,
        clock: Arc<AtomicU64>,
    }

    /// A server with three kinds of answers: none, a list, and a watch with an event. Each answer is the
    /// number of its connection.
    fn stage() -> Stage {
        let (opened, clock) = (AtomicU64::new(0), Arc::<AtomicU64>::default());
        let open = move || {
            let number = opened.fetch_add(1, Ordering::Relaxed);
            Client::new(service_fn(move |request| answer(number, request)))
        };
        let time = Arc::clone(&clock);
        let now = Box::new(move || Duration::from_secs(time.load(Ordering::Relaxed)));
        Stage { renewed: Renewed::new(open, now), clock }
    }

    async fn answer(number: u64, request: Request<Body>) -> Result<Response<Events>, Infallible> {
        if request.uri().path() == HANGS {
            return pending().await;
        }
        let body = Full::new(Bytes::from(number.to_string()));
        if !is_watch(&request) {
            return Ok(Response::new(body.boxed_unsync()));
        }
        let frames = BodyStream::new(body).chain(stream::pending());
        Ok(Response::new(StreamBody::new(frames).boxed_unsync()))
    }

    type Answer = UnsyncBoxBody<Bytes, BoxError>;

    impl Stage {
        /// Sends a request, and gives it up after some seconds without an answer.
        fn ask(&self, path: &str, seconds: u64) -> Option<Answer> {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let mut asked = Box::pin(Arc::clone(&self.renewed).ask(request));
            let answer = asked.as_mut().now_or_never();
            if answer.is_none() {
                self.clock.fetch_add(seconds, Ordering::Relaxed);
            }
            Some(answer?.unwrap().into_body())
        }

        fn hangs(&self, seconds: u64) {
            assert!(self.ask(HANGS, seconds).is_none());
        }

        /// The connection of a request.
        fn connection(&self) -> u64 {
            event(&mut self.ask(READ, 0).unwrap()).unwrap()
        }

        /// Two watches that end after some seconds without a further event.
        fn watches(&self, seconds: u64) {
            let mut both = [self.ask(WATCH, 0).unwrap(), self.ask(WATCH, 0).unwrap()];
            assert!(both.each_mut().map(event).iter().all(Option::is_some));
            self.clock.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    /// The connection that an answer or an event names; `None` at the end.
    fn event(events: &mut Answer) -> Option<u64> {
        let frame = events.frame().now_or_never().expect("an event or the end");
        let data = frame?.unwrap().into_data().unwrap();
        Some(std::str::from_utf8(&data).unwrap().parse().unwrap())
    }

    #[test]
    fn two_requests_without_an_answer_open_a_new_connection() {
        let stage = stage();
        stage.hangs(5);
        stage.hangs(5);
        assert_eq!(stage.connection(), 1);
        assert_eq!(stage.connection(), 1);
    }

    #[test]
    fn two_silent_watches_open_a_new_connection() {
        let stage = stage();
        stage.watches(80);
        assert_eq!(stage.connection(), 1);
    }

    #[test]
    fn requests_that_are_given_up_early_say_nothing() {
        let stage = stage();
        for _ in 0..5 {
            stage.hangs(3);
            stage.watches(60);
        }
        assert_eq!(stage.connection(), 0);
    }

    #[test]
    fn an_answer_or_an_event_shows_that_the_server_works_and_the_start_of_a_watch_does_not() {
        let stage = stage();
        for _ in 0..3 {
            stage.hangs(5);
            assert_eq!(stage.connection(), 0);
            stage.hangs(5);
            stage.watches(0);
        }
        stage.hangs(5);
        let _events = stage.ask(WATCH, 0);
        stage.hangs(5);
        assert_eq!(stage.connection(), 1);
    }

    #[test]
    fn a_watch_over_a_connection_that_is_replaced_ends() {
        let stage = stage();
        let mut events = stage.ask(WATCH, 0).unwrap();
        assert_eq!(event(&mut events), Some(0));
        stage.hangs(5);
        stage.hangs(5);
        assert_eq!(event(&mut events), None);
        assert_eq!(event(&mut stage.ask(WATCH, 0).unwrap()), Some(1));
    }

    #[test]
    fn a_request_over_an_earlier_connection_says_nothing_of_the_present_one() {
        let stage = stage();
        let late = stage.ask(WATCH, 0);
        stage.hangs(5);
        stage.hangs(80);
        stage.hangs(5);
        drop(late);
        assert_eq!(stage.connection(), 1);
    }
}
