//! Cloudflare's settings, parsed once.

use crate::access::{Access, Variables};
use crate::credential;
use crate::vendor::{ConfigError, Settings, TokenVariables};

pub(super) const TOKEN: TokenVariables =
    TokenVariables { value: "CLOUDFLARE_TOKEN", file: "CLOUDFLARE_TOKEN_FILE" };
pub(super) const API_URL: &str = "CLOUDFLARE_API_URL";
const VARIABLES: Variables = Variables {
    api_url: API_URL,
    user_agent: "CLOUDFLARE_USER_AGENT",
    default_api_url: "https://api.cloudflare.com/client/v4",
};

pub(super) fn read(settings: &Settings<'_>) -> Result<Access, ConfigError> {
    Access::read(settings, &VARIABLES, credential::token(settings, TOKEN)?)
}
