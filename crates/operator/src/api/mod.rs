//! The custom resources: types, validation, and the definitions generated from both.
//!
//! Group, kinds and fields are FLIPOP's; Pontoon only adds fields. Two rules hold throughout:
//!
//! - Decoding never fails on an object that FLIPOP's definitions could have stored: every field has
//!   a default, and an empty text means *unset*. Values are checked later, object by object.
//! - Validation (`rules.rs`) applies to new input only. A stored object that breaks a newer rule
//!   can still be updated.

mod decode;
mod definitions;
mod dns;
mod kinds;
mod names;
mod node_dns_record_set;
mod pool;
mod rules;
mod selection;
mod wire;

pub use definitions::{crds, crds_yaml};
pub use dns::{DEFAULT_DNS_PROVIDER, DnsRecordSet, DnsRecordStatus};
pub use kinds::{FLOATING_IP_POOL, KINDS, NODE_DNS_RECORD_SET, all_objects, objects};
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
