//! The last check before the wire.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request};
use hyper::body::{Body, Frame, SizeHint};
use tower::{ServiceExt, service_fn};

use crate::transport::{Transport, TransportError};

/// Decides, request by request, whether something may be changed now: a replica that does
/// not lead, or whose lease ends before the call must, answers no.
///
/// Every request but GET and HEAD is asked about. A refusal is
/// [`NotSent`](TransportError::NotSent) with the reason. The gate belongs directly around
/// what sends: [`https`](crate::https) takes it, [`around`](Self::around) puts it on any
/// other transport.
///
/// # How near to the wire the check is
///
/// It is made when the request arrives, before a connection is looked for. `https` makes it
/// a second time when the connection is there and asks for the request's body, in the same
/// step in which the body is handed to the socket: time spent connecting, or a process that
/// was stopped meanwhile, cannot carry an outdated "yes" to the vendor. A request whose
/// body is refused is aborted. On HTTP/1 nothing of it was written; on HTTP/2 its head may
/// have been, which without its body has no effect.
///
/// What remains:
/// - a stop of the process between that step and the kernel's sending of the bytes;
/// - requests without a body (DELETE) have only the first check: between it and the wire
///   lies the making of a connection, bounded by the deadline of the call.
///
/// The check runs inside connection tasks: it must be quick and must not block.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl Gate {
    /// A gate that asks `check` each time; its error is the reason that is shown.
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// A gate that lets everything pass: one replica without election, or a test.
    pub fn open() -> Self {
        Self::new(|| Ok(()))
    }

    /// Puts the gate around `transport`. The check is made in the same step in which the
    /// request is handed to it.
    pub fn around(&self, transport: Transport) -> Transport {
        let gate = self.clone();
        Transport::new(service_fn(move |request: Request<Bytes>| {
            let (gate, transport) = (gate.clone(), transport.clone());
            async move {
                if mutates(request.method()) {
                    (gate.0)().map_err(TransportError::NotSent)?;
                }
                transport.oneshot(request).await
            }
        }))
    }

    /// The request with a body that asks the gate once more, and where it says that it was
    /// refused: HTTP/2 does not pass a body's error on to the one who waits for the answer.
    pub(crate) fn on(&self, request: Request<Bytes>) -> (Request<GatedBody>, Refusal) {
        let gate = mutates(request.method()).then(|| self.clone());
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

fn mutates(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// Why the body of a request was kept back, once it was.
pub(crate) type Refusal = Arc<OnceLock<String>>;

/// One frame of bytes, handed out only while the gate says so.
pub(crate) struct GatedBody {
    bytes: Option<Bytes>,
    gate: Option<Gate>,
    refusal: Refusal,
}

/// The gate was shut when the body was asked for.
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
        let allowed = self.gate.take().map_or(Ok(()), |gate| (gate.0)());
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
