//! NetIPAllocations, from a user's view: what ip-address-controller's README promises, and what
//! Pontoon adds.
//!
//! | ... | here |
//! |---|---|
//! | which node gets the address and the label | `placing` |
//! | cordoned and drained nodes | `draining` |
//! | other workloads than Deployments, and none | `workloads` |
//! | pods that relied on the address | `evicting` |
//! | several allocations, pools beside allocations | `sharing` |
//! | the same at Google | `google` |
//! | nodes without a provider ID | `nameless` |
//! | the provider is out of order | `outage` |
//! | what kubectl shows | `columns` |
//! | objects of the predecessor's definition | `upgrading` |

mod columns;
mod draining;
mod evicting;
mod google;
mod nameless;
mod outage;
mod placing;
mod sharing;
pub mod stage;
mod upgrading;
mod workloads;
