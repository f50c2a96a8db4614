//! The link from a replica to the provider.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fakecloud::{Asked, Carried, CloudService, FakeCloud};
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use pontoon_providers::TransportError;
use tower::Service;

use super::{agent, moment, stopping};
use crate::coverage::CUT_OFF;
use crate::faults::CloudFault;
use crate::oracle::Sent;
use crate::process::{Effect, Process, Seam};
use crate::schedule::Phase;
use crate::stage::Shared;
use crate::vendor::Vendor;

/// A replica's link to the provider.
#[derive(Clone)]
pub struct CloudWire {
    /// The calling process.
    pub process: Process,
    /// The emulator.
    pub service: CloudService,
    /// The state of the emulator: some vendors' calls alone do not tell what they are about.
    pub cloud: FakeCloud,
    /// The shared state of the run.
    pub shared: Arc<Shared>,
}

type Answer = Result<Response<Bytes>, TransportError>;

impl Service<Request<Bytes>> for CloudWire {
    type Response = Response<Bytes>;
    type Error = TransportError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        Box::pin(self.clone().pass(request))
    }
}

impl CloudWire {
    fn asked(&self, request: &Request<Bytes>) -> Asked {
        match self.shared.vendor {
            Vendor::Google => self.cloud.asked(request),
            Vendor::DigitalOcean | Vendor::Aws | Vendor::Azure | Vendor::Hetzner => {
                fakecloud::asked(request)
            }
        }
    }

    async fn pass(mut self, mut request: Request<Bytes>) -> Answer {
        let Self { process, shared, .. } = &self;
        let Asked { purpose: action, ip, machine, records } = self.asked(&request);
        let known = shared.vendor.called(action);
        let call = process.call(action.name(), Effect::of(action.changes()));
        let way = process.way(Seam::Cloud);
        if !way.is_open() {
            shared.coverage().count(CUT_OFF, known);
        }
        stopping(shared, process, call, known);
        moment(shared, process, call, Phase::BeforeSend, known).await;
        way.clone().open().await;
        let sent = Sent {
            agent: agent(process, call),
            process: process.name.clone(),
            action,
            ip,
            machine,
            records,
            path: request.uri().path().to_owned(),
        };
        let (faults, names) = shared.weather().cloud(&sent, shared.vendor);
        names.iter().for_each(|name| shared.coverage().count(name, known));
        shared.tell(|| {
            let (method, uri) = (request.method(), request.uri());
            let text = String::from_utf8_lossy(request.body()).into_owned();
            let path = uri.path_and_query().map_or("", |path| path.as_str());
            format!("{} -> cloud {method} {path} {text} {names:?}", agent(process, call))
        });
        shared.oracle().sent(sent.clone());
        if let Ok(agent) = HeaderValue::try_from(agent(process, call)) {
            request.headers_mut().insert(USER_AGENT, agent);
        }
        request.extensions_mut().insert(Carried(faults));
        let answer = self.service.call(request).await;
        way.open().await;
        let Self { process, shared, .. } = &self;
        let garbled = names.contains(&CloudFault::Garbled.name());
        let succeeded = !garbled && answer.as_ref().is_ok_and(|one| one.status().is_success());
        shared.oracle().answered(&sent, succeeded);
        moment(shared, process, call, Phase::AfterEffect, known).await;
        let status = answer.as_ref().map(|answer| answer.status().as_u16());
        shared.tell(|| match &answer {
            Ok(answer) => {
                let text = String::from_utf8_lossy(answer.body());
                format!("{} <- cloud {} {text}", agent(process, call), answer.status().as_u16())
            }
            Err(_) => format!("{} <- cloud: no answer", agent(process, call)),
        });
        if status == Ok(shared.vendor.refusal()) {
            shared.coverage().count("refused as busy or impossible", known);
        }
        moment(shared, process, call, Phase::AfterAnswer, known).await;
        answer.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
    }
}
