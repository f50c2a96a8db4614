//! The text of reasons that name fields, annotations or roles, in the words of the pool's front.

use std::fmt;
use std::net::IpAddr;

use crate::Time;
use crate::model::PoolNames;

/// Addresses in a row.
pub(super) fn listed(ips: &[IpAddr]) -> String {
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Writes that a release failed, and how to let the pool go without the release.
pub(super) fn explain_unreleased(
    f: &mut fmt::Formatter<'_>,
    names: &PoolNames,
    message: &str,
    next: Time,
) -> fmt::Result {
    write!(
        f,
        "being deleted; releasing an address failed: {message}; next attempt at {next}; {} to keep \
         the address and let the pool go",
        names.retain
    )
}

/// Writes that the API server refuses the ledger.
pub(super) fn explain_unrecorded(
    f: &mut fmt::Formatter<'_>,
    names: &PoolNames,
    message: &str,
) -> fmt::Result {
    let what = format!(
        "the annotation {} of this object, without which no address is reserved or released",
        names.ledger
    );
    explain_unwritten(f, names, &what, message)
}

/// Writes that the API server refuses a write, and what permits the write.
pub(super) fn explain_unwritten(
    f: &mut fmt::Formatter<'_>,
    names: &PoolNames,
    what: &str,
    message: &str,
) -> fmt::Result {
    write!(
        f,
        "the API server refuses to write {what}: {message}. Grant what {} grant, or let the \
         admission policy pass it; tried again within a minute",
        names.roles
    )
}

/// Writes which addresses may be the result of a reservation, and how a person answers.
pub(super) fn explain_unknown(
    f: &mut fmt::Formatter<'_>,
    names: &PoolNames,
    candidates: &[IpAddr],
) -> fmt::Result {
    let (candidates, annotation) = (listed(candidates), names.resolution);
    write!(
        f,
        "a reservation had no answer, and the account has new addresses that nobody lists: \
         {candidates}. Annotate the object with {annotation}=<address> if the reservation made one \
         of these, otherwise with {annotation}=none"
    )
}
