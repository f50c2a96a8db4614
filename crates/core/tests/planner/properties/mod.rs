//! What holds in every world, however unlikely.

mod chaos;
mod events;
mod invariants;
mod optimum;
mod order;
mod selectors;
