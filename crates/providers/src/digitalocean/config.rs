//! DigitalOcean's settings, parsed once.

use crate::access::{Access, Variables, unusable, value};
use crate::credential;
use crate::vendor::{ConfigError, Settings, TokenVariables};

pub(super) const TOKEN: TokenVariables =
    TokenVariables { value: "DIGITALOCEAN_ACCESS_TOKEN", file: "DIGITALOCEAN_ACCESS_TOKEN_FILE" };
pub(super) const API_URL: &str = "DIGITALOCEAN_API_URL";
const VARIABLES: Variables = Variables {
    api_url: API_URL,
    user_agent: "DIGITALOCEAN_USER_AGENT",
    default_api_url: "https://api.digitalocean.com",
};
const PROJECT_ID: &str = "DIGITALOCEAN_PROJECT_ID";

/// The settings of one account.
#[derive(Debug)]
pub(super) struct Config {
    pub access: Access,
    /// The project for addresses reserved by region.
    pub project: Option<String>,
}

impl Config {
    pub fn read(settings: &Settings<'_>) -> Result<Self, ConfigError> {
        let project = value(settings, PROJECT_ID);
        if project.iter().any(|id| id.chars().any(char::is_control)) {
            return Err(unusable(PROJECT_ID, "has control characters in it"));
        }
        let token = credential::token(settings, TOKEN)?;
        Ok(Self { access: Access::read(settings, &VARIABLES, token)?, project })
    }
}
