//! The planner's guarantees: each test name states a single guarantee.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cloud;
mod dns;
mod fixture;
mod profiles;
mod scene;

mod abilities;
mod changing;
mod claiming;
mod confirming;
mod conflicting;
mod contesting;
mod crashing;
mod creating;
mod doubting;
mod drifting;
mod egress;
mod evicting;
mod failing;
mod forbidding;
mod grace;
mod holding;
mod ipv6;
mod labelling;
mod lasting;
mod leaving;
mod marking;
mod matching;
mod pacing;
mod pausing;
mod placing;
mod pods;
mod properties;
mod reading;
mod recording;
mod recovering;
mod refused;
mod releasing;
mod renewing;
mod sharing;
mod telling;
mod unanswered;
mod unheard;
mod unreadable;
mod vips;
