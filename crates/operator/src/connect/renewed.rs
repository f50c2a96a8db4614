//! Opens a new connection to the API server when the old one answers pings and no reads.
//!
//! An API server whose storage hangs, or a proxy before one, keeps a connection alive and answers no
//! request. Each request ends at its deadline, and the next one would go over the same connection: a load
//! balancer, which may know a better server, is asked for new connections only. Leases have a connection
//! of their own, so that a leader whose other connection hangs would lead on without seeing anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use tokio::sync::watch;
use tower::{BoxError, Service, ServiceExt};

/// Silence after which a watch that ends counts. Bookmarks come about once a minute.
const SILENT: Duration = Duration::from_secs(70);

/// Number of requests and watches without an answer, one after the other, that show a hanging server. The
/// number doubles with each connection that did not help.
const HANGS: u32 = 2;
const MOST_HANGS: u32 = 64;

/// Monotonic time.
pub(super) type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// Which requests show that the server hangs, if they end without an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement {
    /// Their least age.
    pub age: Duration,
    /// Writes count too. A webhook that hangs holds up writes alone.
    pub writes: bool,
}

/// A client whose connection is replaced when it hangs. Watches over the old connection end then, and
/// start again over the new one.
pub(super) struct Renewed<S> {
    open: Box<dyn Fn() -> S + Send + Sync>,
    /// The current client, and the number of its connection.
    current: Mutex<(S, u64)>,
    judgement: Judgement,
    connection: Arc<Connection>,
}

/// The current connection, and its answers.
struct Connection {
    now: Clock,
    /// Number of the current connection.
    number: watch::Sender<u64>,
    record: Mutex<Record>,
}

/// The answers over the current connection.
struct Record {
    /// The last answer or event.
    answered: Option<Duration>,
    /// Requests and watches without an answer since then.
    unanswered: u32,
    /// Number of these from which the connection is replaced.
    most: u32,
}

impl<S, B> Renewed<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: BodyExt<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    pub fn new(
        open: impl Fn() -> S + Send + Sync + 'static,
        judgement: Judgement,
        now: Clock,
    ) -> Arc<Self> {
        let record = Mutex::new(Record { answered: None, unanswered: 0, most: HANGS });
        let connection = Arc::new(Connection { now, number: watch::Sender::new(0), record });
        let current = Mutex::new((open(), 0));
        Arc::new(Self { current, open: Box::new(open), judgement, connection })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The client's errors.
    pub async fn ask(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError> {
        let watches = is_watch(&request);
        let counts = self.judgement.writes || request.method() == Method::GET;
        let limit = if counts { self.judgement.age } else { Duration::MAX };
        let (client, number) = self.current();
        let waiting = Waiting::begin(&self.connection, number, limit);
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

/// A wait for an answer. A wait that is given up after its limit counts, if nothing else was answered
/// meanwhile.
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
            self.connection.gave_no_answer(self.number, self.since);
        }
    }
}

impl Connection {
    fn answered(&self, number: u64) {
        if *self.number.borrow() == number {
            let answered = Some((self.now)());
            *lock(&self.record) = Record { answered, unanswered: 0, most: HANGS };
        }
    }

    fn gave_no_answer(&self, number: u64, since: Duration) {
        let mut record = lock(&self.record);
        if *self.number.borrow() != number || record.answered.is_some_and(|time| time > since) {
            return;
        }
        record.unanswered += 1;
        if record.unanswered >= record.most {
            let most = (record.most * 2).min(MOST_HANGS);
            *record = Record { answered: None, unanswered: 0, most };
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

    use futures::future::BoxFuture;
    use futures::{FutureExt, stream};
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

    const READS: Judgement = Judgement { age: Duration::from_secs(4), writes: false };

    fn stage() -> Stage {
        stage_that_counts(READS)
    }

    /// A server with three kinds of answers: none, a list, and a watch with an event. Each answer is the
    /// number of its connection.
    fn stage_that_counts(judgement: Judgement) -> Stage {
        let (opened, clock) = (AtomicU64::new(0), Arc::<AtomicU64>::default());
        let open = move || {
            let number = opened.fetch_add(1, Ordering::Relaxed);
            Client::new(service_fn(move |request| answer(number, request)))
        };
        let time = Arc::clone(&clock);
        let now = Box::new(move || Duration::from_secs(time.load(Ordering::Relaxed)));
        Stage { renewed: Renewed::new(open, judgement, now), clock }
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
    type Answered = Result<Response<Answer>, BoxError>;

    impl Stage {
        /// Sends a request, and gives it up after some seconds without an answer.
        fn ask(&self, path: &str, seconds: u64) -> Option<Answer> {
            let mut asked = self.begin(Request::get(path));
            let answer = asked.as_mut().now_or_never();
            if answer.is_none() {
                self.passes(seconds);
            }
            Some(answer?.unwrap().into_body())
        }

        fn begin(&self, request: http::request::Builder) -> BoxFuture<'static, Answered> {
            Arc::clone(&self.renewed).ask(request.body(Body::empty()).unwrap()).boxed()
        }

        fn passes(&self, seconds: u64) {
            self.clock.fetch_add(seconds, Ordering::Relaxed);
        }

        /// Two writes that hang at the same time.
        fn writes(&self) {
            let mut both = [(), ()].map(|()| self.begin(Request::patch(HANGS)));
            assert!(both.iter_mut().all(|one| one.now_or_never().is_none()));
            self.passes(10);
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
            self.passes(seconds);
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
    fn requests_that_hang_at_the_same_time_say_nothing_if_another_is_answered_meanwhile() {
        let stage = stage();
        let mut both = [(), ()].map(|()| stage.begin(Request::get(HANGS)));
        assert!(both.iter_mut().all(|one| one.now_or_never().is_none()));
        stage.passes(5);
        assert_eq!(stage.connection(), 0);
        stage.passes(5);
        drop(both);
        assert_eq!(stage.connection(), 0);
    }

    /// A webhook holds up writes alone; none is called for Leases.
    #[test]
    fn writes_count_for_leases_alone() {
        let stage = stage();
        stage.writes();
        assert_eq!(stage.connection(), 0);
        let stage = stage_that_counts(Judgement { writes: true, ..READS });
        stage.writes();
        assert_eq!(stage.connection(), 1);
    }

    #[test]
    fn a_server_that_hangs_on_gets_ever_fewer_connections() {
        let stage = stage();
        for _ in 0..6 {
            stage.hangs(5);
        }
        assert_eq!(stage.connection(), 2, "after two and four requests");
        stage.hangs(5);
        stage.hangs(5);
        assert_eq!(stage.connection(), 3, "an answer came between");
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
