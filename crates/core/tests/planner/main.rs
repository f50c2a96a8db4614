//! What the planner promises, each as a sentence.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod claiming;
mod cloud;
mod dns;
mod fixture;
mod scene;

mod conflicting;
mod crashing;
mod creating;
mod doubting;
mod drifting;
mod failing;
mod grace;
mod ipv6;
mod leaving;
mod marking;
mod matching;
mod pacing;
mod pausing;
mod placing;
mod properties;
mod reading;
mod recording;
mod releasing;
mod sharing;
mod unheard;
