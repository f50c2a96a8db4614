mod clusters;
mod definitions;
mod sources;
mod writes;
