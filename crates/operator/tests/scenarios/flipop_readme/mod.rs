//! The predecessor's README, executed: its two manifests as they are printed there, and each
//! promise of that page as a test that is called after it.
//!
//! | part of the page | here |
//! |---|---|
//! | FloatingIPPool: its manifest, what a pool does | `pools` |
//! | NodeDNSRecordSet: its manifest, `addressType`, what a record set does | `record_sets` |
//! | matching, assignment logic | `matching` |
//! | features, metrics, providers | `around` |
//! | installation | `installation`, and its Secret in `around` |
//!
//! Not promises, and not here: its internal architecture, its TODO (a grace period, which we
//! have).

mod around;
mod installation;
mod matching;
mod pools;
mod record_sets;
mod stage;
