//! A server with scripted replies and a log of requests.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use pontoon_providers::{Transport, TransportError};
use tower::service_fn;

/// The address replaced by [`Reply::Fresh`].
const STALE: &str = "203.0.113.7";

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl fmt::Debug for Answer {
    /// Human-readable, with text bodies.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for (name, value) in &self.headers {
            write!(f, ", {name}: {:?}", String::from_utf8_lossy(value))?;
        }
        write!(f, ": {:?}", String::from_utf8_lossy(&self.body))
    }
}

/// The fate of a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Answer(Answer),
    /// The answer with a different address each time.
    Fresh(Answer),
    /// The request was not sent.
    NotSent,
    /// The connection broke.
    Broken,
    /// No reply, ever.
    Silence,
}

/// A request, and its answer if any.
pub type Logged = (Request<Bytes>, Option<Answer>);

/// The requests of a single call.
#[derive(Clone)]
pub struct Exchange {
    replies: Vec<Reply>,
    log: Arc<Mutex<Vec<Logged>>>,
}

impl Exchange {
    /// Replies in order, repeating the last.
    pub fn of(replies: Vec<Reply>) -> Self {
        Self { replies, log: Arc::default() }
    }

    pub fn log(&self) -> Vec<Logged> {
        self.log.lock().unwrap().clone()
    }

    pub fn transport(&self) -> Transport {
        let exchange = self.clone();
        Transport::new(service_fn(move |request| {
            let exchange = exchange.clone();
            async move { exchange.reply(request).await }
        }))
    }

    async fn reply(self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let count = self.log.lock().unwrap().len();
        let reply = self.replies[count.min(self.replies.len() - 1)].clone();
        let answer = match &reply {
            Reply::Answer(answer) => Some(answer.clone()),
            Reply::Fresh(answer) => Some(answer.with_fresh_address(count)),
            Reply::NotSent | Reply::Broken | Reply::Silence => None,
        };
        self.log.lock().unwrap().push((request, answer.clone()));
        match (answer, reply) {
            (Some(answer), _) => Ok(answer.response()),
            (None, Reply::NotSent) => Err(TransportError::NotSent("no route".into())),
            (None, Reply::Silence) => std::future::pending().await,
            (None, _) => Err(TransportError::NoAnswer("reset by peer".into())),
        }
    }
}

impl Answer {
    fn with_fresh_address(&self, count: usize) -> Self {
        let fresh = format!("198.18.{}.{}", count / 256 % 256, count % 256);
        // A body other than text stays unchanged.
        let body = match std::str::from_utf8(&self.body) {
            Ok(text) => text.replace(STALE, &fresh).into_bytes(),
            Err(_) => self.body.clone(),
        };
        Self { body, ..self.clone() }
    }

    fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(self.body.clone().into());
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}
