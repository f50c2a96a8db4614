//! Properties of all worlds, however unlikely.

mod anything;
mod chaos;
mod events;
mod fewest;
mod idempotent;
mod incremental;
mod invariants;
mod optimum;
mod order;
mod records;
mod run;
mod selectors;
mod small;
mod total;
