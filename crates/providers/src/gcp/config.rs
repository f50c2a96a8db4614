//! The settings of a Google Cloud account, parsed once.

use super::credential::Chain;
use super::place::is_project;
use crate::access::{Access, Variables, unusable, value};
use crate::credential::{Bearer, Refreshed};
use crate::vendor::{ConfigError, Settings};

pub(super) const TOKEN: &str = "GCP_ACCESS_TOKEN";
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
        let access = match value(settings, TOKEN) {
            Some(_) => Access::read(settings, &VARIABLES, Bearer::read(settings, TOKEN)?)?,
            None => {
                let chain = Refreshed::new(Chain::of_google(settings.timeout));
                Access::read(settings, &VARIABLES, chain)?
            }
        };
        Ok(Self { access, project })
    }
}
