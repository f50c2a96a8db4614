//! The custom resources: their types, their validation, and the definitions made of both.
//!
//! Group, kinds and fields are FLIPOP's; what is ours is added beside them. Two rules hold
//! throughout:
//!
//! - Decoding never fails on an object that FLIPOP's definitions could have stored. So
//!   every field has a default, an empty text means *unset*, and whether a value makes sense
//!   is asked later, of the one object that it concerns.
//! - Validation (`rules.rs`) looks at what somebody writes now. A stored object that
//!   breaks a newer rule can still be updated.

mod decode;
mod definitions;
mod dns;
mod names;
mod node_dns_record_set;
mod pool;
mod rules;
mod selection;
mod wire;

pub use definitions::{crds, crds_yaml};
pub use dns::{DEFAULT_DNS_PROVIDER, DNS_PROVIDERS, DnsRecordSet, DnsRecordStatus};
pub(crate) use names::own;
pub use names::{
    ADDRESSES_ANNOTATION, CONDITION_DNS, CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED,
    DNS_NOT_READY, GROUP, IPV4_ANNOTATION, IPV6_ANNOTATION, PAUSED_ANNOTATION, PREFIX,
    RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION, VERSION,
};
pub use node_dns_record_set::{NodeDNSRecordSet, NodeDNSRecordSetSpec, NodeDNSRecordSetStatus};
pub use pool::{
    DriftStatus, FloatingIPPool, FloatingIPPoolSpec, FloatingIPPoolStatus, IpState, IpStatus,
    MOST_ADDRESSES,
};
pub use selection::{Match, Toleration};
