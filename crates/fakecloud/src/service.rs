//! In-process entry point: a tower service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fakehttp::{Lost, send};
use http::{Request, Response};
use tower::Service;

use crate::call::Call;
use crate::cloud::Shared;

/// A cloud as a tower service.
///
/// Each request runs on its own task from the first poll of its future, so a caller that goes away
/// does not cancel the request. Always ready; needs a tokio runtime.
#[derive(Clone, Debug)]
pub struct CloudService {
    cloud: Arc<Shared>,
}

impl CloudService {
    pub(crate) fn new(cloud: Arc<Shared>) -> Self {
        Self { cloud }
    }

    pub(crate) fn cloud(&self) -> &Arc<Shared> {
        &self.cloud
    }
}

impl Service<Request<Bytes>> for CloudService {
    type Response = Response<Bytes>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        Box::pin(send(Arc::clone(&self.cloud), Call::new(request)))
    }
}
