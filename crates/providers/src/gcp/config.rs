//! The settings of a Google Cloud account, parsed once.

use std::sync::Arc;

use super::credential::Chain;
use super::place::is_project;
use crate::access::{Access, Variables, unusable, value};
use crate::credential::{self, Credential, Refreshed};
use crate::vendor::{ConfigError, Settings, TokenVariables};

pub(super) const TOKEN: TokenVariables =
    TokenVariables { value: "GCP_ACCESS_TOKEN", file: "GCP_ACCESS_TOKEN_FILE" };
pub(super) const API_URL: &str = "GCP_API_URL";
const VARIABLES: Variables = Variables {
    api_url: API_URL,
    user_agent: "GCP_USER_AGENT",
    default_api_url: "https://compute.googleapis.com",
};
/// The variables with the project, the first that counts.
pub(super) const PROJECTS: [&str; 2] = ["GOOGLE_CLOUD_PROJECT", "GCP_PROJECT"];

/// The settings of one account.
#[derive(Debug)]
pub(super) struct Config {
    pub access: Access,
    /// The project of the addresses. Without one, the projects of the machines count.
    pub project: Option<String>,
}

impl Config {
    pub fn read(settings: &Settings<'_>) -> Result<Self, ConfigError> {
        let mut project = None;
        for variable in PROJECTS {
            let Some(name) = value(settings, variable) else { continue };
            if !is_project(&name) {
                return Err(unusable(variable, "is not the ID of a project"));
            }
            project.get_or_insert(name);
        }
        let fixed = [TOKEN.value, TOKEN.file].into_iter().any(|one| value(settings, one).is_some());
        let credential: Arc<dyn Credential> = if fixed {
            credential::token(settings, TOKEN)?
        } else {
            Arc::new(Refreshed::new(Chain::of_google(settings.timeout)))
        };
        Ok(Self { access: Access::read(settings, &VARIABLES, credential)?, project })
    }
}
