//! A provider with prepared answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use tower::service_fn;

use crate::transport::{Transport, TransportError};
use crate::vendor::{Clock, Settings};

type Scripted = Result<Response<Bytes>, TransportError>;

/// Gives prepared answers in order, and keeps the requests.
#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Scripted>>>,
    pub requests: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Script {
    pub fn then(self, status: u16, body: impl ToString) -> Self {
        let body = body.to_string();
        self.then_answer(Response::builder().status(status).body(body.into()).unwrap())
    }

    pub fn then_answer(self, answer: Response<Bytes>) -> Self {
        self.answers.lock().unwrap().push_back(Ok(answer));
        self
    }

    pub fn then_error(self, error: TransportError) -> Self {
        self.answers.lock().unwrap().push_back(Err(error));
        self
    }

    pub fn transport(&self) -> Transport {
        let script = self.clone();
        Transport::new(service_fn(move |request| {
            script.requests.lock().unwrap().push(request);
            let answer = script.answers.lock().unwrap().pop_front();
            async move {
                // A server takes its time.
                tokio::task::yield_now().await;
                answer.expect("a request that the script does not expect")
            }
        }))
    }

    /// `METHOD /path body` of each request.
    pub fn sent(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let line = |request: &Request<Bytes>| {
            let body = String::from_utf8_lossy(request.body());
            let target = request.uri().path_and_query().unwrap();
            format!("{} {target} {body}", request.method()).trim_end().to_owned()
        };
        requests.iter().map(line).collect()
    }
}

/// Calls `open` with these variables and five seconds for each request.
pub(crate) fn with_variables<T>(
    variables: &[(&str, &str)],
    open: impl FnOnce(&Settings<'_>) -> T,
) -> T {
    let variable = |name: &str| {
        let found = variables.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let clock = Clock::new(|| SystemTime::UNIX_EPOCH);
    open(&Settings { variable: &variable, timeout: Duration::from_secs(5), clock })
}
