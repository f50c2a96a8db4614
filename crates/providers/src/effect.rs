//! The effect of a request at the provider, stated by its sender.

use bytes::Bytes;
use http::Request;

/// The effect of a request, carried in the request's extensions.
///
/// The HTTP method does not tell: some APIs read by POST. The client that makes a request says what
/// it does, and the [gate](crate::layers::Gate) goes by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changes at the provider.
    Read,
    /// Something may change at the provider.
    Change,
}

impl Effect {
    /// The effect that a request states. A request without a statement counts as a change: it is
    /// held back where changes are, instead of slipping through.
    pub fn of(request: &Request<Bytes>) -> Self {
        request.extensions().get().copied().unwrap_or(Self::Change)
    }
}
