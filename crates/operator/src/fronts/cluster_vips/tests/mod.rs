mod clusters;
mod definitions;
mod sources;
