//! The last check before a request is sent.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use hyper::body::{Body, Frame, SizeHint};
use tower::{ServiceExt, service_fn};

use crate::effect::Effect;
use crate::transport::{Transport, TransportError};

/// Decides for each mutating request whether changes are allowed now. A replica refuses if not
/// leader, or if its Lease ends before the call must.
///
/// Requests are checked unless they say that they only read ([`Effect`]). A refusal is
/// [`NotSent`](TransportError::NotSent) with the reason. The gate belongs directly around the sending transport: [`https`](crate::https)
/// takes a gate, and [`around`](Self::around) adds a gate to any other transport.
///
/// # Distance between check and wire
///
/// The first check happens when the request arrives, before a connection is sought. `https` repeats
/// the check when the connection asks for the request's body, in the same step that hands the body
/// to the socket. Time spent connecting, or a suspended process, therefore cannot carry an outdated
/// "yes" to the provider. A request with a refused body is aborted. On HTTP/1 no byte was written;
/// on HTTP/2 the head may have been sent, which has no effect without its body.
///
/// Remaining gaps:
/// - The process may be suspended between the second check and the kernel's sending of the bytes.
/// - A request without a body (DELETE) has only the first check, followed by connecting, bounded by
///   the deadline of the call.
///
/// The check runs inside connection tasks, so it must be quick and must not block.
#[derive(Clone)]
pub struct Gate(Arc<Check>);

/// The check of a gate, with the name on whose behalf the request is made.
type Check = dyn Fn(Option<&'static str>) -> Result<(), String> + Send + Sync;

tokio::task_local! {
    static BEHALF: Option<&'static str>;
}

/// Makes `calls` on behalf of a name that the gate's check sees.
pub async fn on_behalf_of<F: Future>(name: Option<&'static str>, calls: F) -> F::Output {
    BEHALF.scope(name, calls).await
}

/// The name on whose behalf this task makes calls.
fn behalf() -> Option<&'static str> {
    BEHALF.try_with(|name| *name).ok().flatten()
}

impl Gate {
    /// A gate calling `check` for every mutating request, with the name of [`on_behalf_of`]. The
    /// error of `check` is the displayed reason.
    pub fn new(
        check: impl Fn(Option<&'static str>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(check))
    }

    /// A gate without restrictions, for a single replica without election, or for tests.
    pub fn open() -> Self {
        Self::new(|_| Ok(()))
    }

    /// Wraps `transport`. The check runs in the same step as the hand-over of the request.
    pub fn around(&self, transport: Transport) -> Transport {
        let gate = self.clone();
        Transport::new(service_fn(move |request: Request<Bytes>| {
            let (gate, transport) = (gate.clone(), transport.clone());
            async move {
                if Effect::of(&request) == Effect::Change {
                    (gate.0)(behalf()).map_err(TransportError::NotSent)?;
                }
                transport.oneshot(request).await
            }
        }))
    }

    /// The request with a body that repeats the check, and a cell for the reason of a refusal.
    /// HTTP/2 does not report a body's error to the caller waiting for the answer.
    pub(crate) fn on(&self, request: Request<Bytes>) -> (Request<GatedBody>, Refusal) {
        let gate = (Effect::of(&request) == Effect::Change).then(|| (self.clone(), behalf()));
        let refusal = Refusal::default();
        let request = request.map(|bytes| GatedBody {
            bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            gate,
            refusal: Arc::clone(&refusal),
        });
        (request, refusal)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// The reason for withholding a request's body, once refused.
pub(crate) type Refusal = Arc<OnceLock<String>>;

/// One frame of bytes, yielded only if the gate allows.
pub(crate) struct GatedBody {
    bytes: Option<Bytes>,
    gate: Option<(Gate, Option<&'static str>)>,
    refusal: Refusal,
}

/// The gate was shut when the connection asked for the body.
#[derive(Debug, thiserror::Error)]
#[error("the gate is shut")]
pub(crate) struct Shut;

impl Body for GatedBody {
    type Data = Bytes;
    type Error = Shut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Shut>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        let allowed = self.gate.take().map_or(Ok(()), |(gate, behalf)| (gate.0)(behalf));
        let frame = allowed.map(|()| Frame::data(bytes)).map_err(|reason| {
            self.refusal.get_or_init(|| reason);
            Shut
        });
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
