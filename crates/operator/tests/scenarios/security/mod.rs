//! Tokens, the administrator's policy, and secrets that must be shown nowhere.

mod canary;
mod policy;
mod starting;
mod tokens;
