//! TCP entry point: the vendors' APIs, and the admin API beside them.

use bytes::Bytes;
use fakehttp::{Lost, whole};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::Service;

use crate::admin;
use crate::call::Call;
use crate::service::CloudService;

/// Answers a request that came over TCP.
pub(crate) async fn answer(
    mut service: CloudService,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Lost> {
    let request = whole(request).await?;
    if request.uri().path().starts_with(admin::PREFIX) {
        return Ok(admin::answer(service.cloud(), &Call::new(request)).map(Full::new));
    }
    Ok(service.call(request).await?.map(Full::new))
}
