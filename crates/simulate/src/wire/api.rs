//! The link from a replica to the API server.

use std::sync::Arc;
use std::task::{Context, Poll};

use fakekube::{Carried, KubeService, Lost};
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use kube::client::Body as RequestBody;
use tower::Service;

use super::body::Body;
use super::{ApiAction, agent, moment, stopping};
use crate::coverage::CUT_OFF;
use crate::process::{Process, Seam};
use crate::schedule::Phase;
use crate::stage::Shared;

/// A replica's link to the API server.
#[derive(Clone)]
pub struct ApiWire {
    /// The calling process.
    pub process: Process,
    /// The emulator.
    pub service: KubeService,
    /// The shared state of the run.
    pub shared: Arc<Shared>,
}

impl Service<Request<RequestBody>> for ApiWire {
    type Response = Response<Body>;
    type Error = Lost;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<Body>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(self.clone().pass(request))
    }
}

impl ApiWire {
    async fn pass(mut self, request: Request<RequestBody>) -> Result<Response<Body>, Lost> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect_bytes().await.map_err(|_| Lost)?;
        let Self { process, shared, .. } = &self;
        let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
        let action = ApiAction::of(&parts.method, path, query).of_mark(&body);
        let call = process.call(action.name(), action.effect());
        let way = process.way(Seam::Api);
        if !way.is_open() {
            shared.coverage().count(CUT_OFF, action.name());
        }
        stopping(shared, process, call, action.name());
        moment(shared, process, call, Phase::BeforeSend, action.name()).await;
        way.clone().open().await;
        let (faults, names) = shared.weather().api(action, process.replica);
        names.iter().for_each(|name| shared.coverage().count(name, action.name()));
        shared.tell(|| {
            let text = String::from_utf8_lossy(&body).into_owned();
            let method = &parts.method;
            format!("{} -> api {method} {path}?{query} {text} {names:?}", agent(process, call))
        });
        shared.oracle().asked(&process.name, action, path, &body);
        if let Ok(agent) = HeaderValue::try_from(agent(process, call)) {
            parts.headers.insert(USER_AGENT, agent);
        }
        parts.extensions.insert(Carried(faults));
        let answer = self.service.call(Request::from_parts(parts, RequestBody::from(body))).await;
        way.clone().open().await;
        let Self { process, shared, .. } = &self;
        moment(shared, process, call, Phase::AfterEffect, action.name()).await;
        shared.tell(|| match &answer {
            Ok(answer) => format!("{} <- api {}", agent(process, call), answer.status().as_u16()),
            Err(_) => format!("{} <- api: no answer", agent(process, call)),
        });
        moment(shared, process, call, Phase::AfterAnswer, action.name()).await;
        answer.map(|answer| answer.map(|body| Body::new(body, way)))
    }
}
