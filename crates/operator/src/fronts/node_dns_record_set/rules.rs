//! The API server's checks of a record set before storing.

use kube::core::Reason;
use schemars::Schema;

use crate::api::cel::{Empty, insert, one_of, unless_already_broken};
use crate::fronts::flipop::IPV4_ANNOTATION;

/// The type of node address to publish.
pub(super) fn address_type(field: &mut Schema) {
    one_of(field, "address type", &["ExternalIP", "InternalIP", IPV4_ANNOTATION], Empty::Allowed);
}

/// A record set names a record.
pub(super) fn record_given(spec: &mut Schema) {
    let rule = unless_already_broken("has({}.dnsRecordSet)")
        .message("say which record shall list the nodes: zone and recordName")
        .field_path(".dnsRecordSet")
        .reason(Reason::FieldValueRequired);
    insert(spec, rule);
}
