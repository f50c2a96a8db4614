//! NetIPAllocations, from a user's view: what ip-address-controller's README promises, and what
//! Pontoon adds.
//!
//! | ... | here |
//! |---|---|
//! | which node gets the address and the label | `placing` |
//! | cordoned and drained nodes | `draining` |
//! | pods that relied on the address | `evicting` |
//! | several allocations, pools beside allocations | `sharing` |
//! | the same at Google | `google` |
//! | objects of the predecessor's definition | `upgrading` |

mod draining;
mod evicting;
mod google;
mod placing;
mod sharing;
mod stage;
mod upgrading;
