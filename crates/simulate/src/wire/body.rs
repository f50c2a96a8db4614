//! The body of an answer. No frame arrives while the link is cut.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;

use crate::process::Way;

/// A body on a link.
pub struct Body {
    inner: fakekube::Body,
    way: Way,
    mended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Body {
    pub(super) fn new(inner: fakekube::Body, way: Way) -> Self {
        Self { inner, way, mended: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = fakekube::Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, fakekube::Broken>>> {
        loop {
            if let Some(mended) = &mut self.mended {
                ready!(mended.as_mut().poll(context));
                self.mended = None;
            }
            if self.way.is_open() {
                return Pin::new(&mut self.inner).poll_frame(context);
            }
            self.mended = Some(Box::pin(self.way.clone().open()));
        }
    }
}
