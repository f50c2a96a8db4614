//! Parts of custom resources that do not depend on the kind: names, the wire format, schemas, rules in CEL,
//! how objects are reached, and how the API server fails. The kinds themselves are in
//! [`crate::fronts`].

pub(crate) mod cel;
mod failure;
mod names;
mod objects;
pub(crate) mod schemas;
pub(crate) mod wire;

pub(crate) use failure::api_failure;
pub(crate) use names::own;
pub use names::{
    ADDRESSES_ANNOTATION, CONDITION_DNS, CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED,
    DNS_NOT_READY, PAUSED_ANNOTATION, PREFIX, RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION,
};
pub use objects::{objects, objects_in, objects_within};
