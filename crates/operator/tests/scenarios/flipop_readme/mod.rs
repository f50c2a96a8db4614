//! The predecessor's README, executed: its two manifests as printed, and a test for each promise of
//! the page.
//!
//! | part of the page | here |
//! |---|---|
//! | FloatingIPPool: manifest, behaviour of a pool | `pools` |
//! | NodeDNSRecordSet: manifest, `addressType`, behaviour of a record set | `record_sets` |
//! | matching, assignment logic | `matching` |
//! | features, metrics, providers | `around` |
//! | installation | `installation`, and its Secret in `around` |
//!
//! Not promises, and not tested here: the internal architecture and the TODO (a grace period, which
//! Pontoon has).

mod around;
pub mod installation;
mod matching;
mod pools;
mod record_sets;
mod stage;
