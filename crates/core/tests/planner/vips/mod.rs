//! VIPs of Clusters: each test name states a single guarantee.

mod events;
mod fixture;
mod management;
mod provider;
mod site;

mod adopting;
mod claiming;
mod dual_stack;
mod failing;
mod falling_back;
mod holding;
mod ingress;
mod leaving_alone;
mod predecessors_faults;
mod properties;
mod reading;
mod selecting;
mod telling;
mod touching;
