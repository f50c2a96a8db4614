mod clusters;
mod definitions;
mod sources;
#[cfg(feature = "stand-ins")]
mod writes;
