//! The operator: observe, plan, execute, report.
//!
//! `observe` turns watches and listings into core's plain values, core plans, `execute`
//! runs the plan's actions and folds their outcomes back, `report` writes status, events
//! and metrics. [`run::run`] ties them together; the binary only parses its arguments.

pub mod api;
pub mod args;
pub mod clouds;
pub mod connect;
pub mod env;
pub mod execute;
pub mod extension;
pub mod fronts;
pub mod leadership;
#[cfg(feature = "stand-ins")]
pub mod management;
pub mod observe;
pub mod panicking;
pub mod pause;
pub mod policy;
pub mod report;
pub mod run;
#[cfg(feature = "sandbox")]
pub mod sandbox;
pub mod serve;
#[cfg(test)]
mod tests;
