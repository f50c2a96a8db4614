//! Endpoint, credential and user agent of an account: the settings common to all providers.

use std::net::IpAddr;
use std::sync::Arc;

use http::uri::Scheme;
use http::{HeaderValue, Uri};

use crate::credential::Credential;
use crate::vendor::{Clock, ConfigError, Settings};

const DEFAULT_USER_AGENT: &str = concat!("pontoon/", env!("CARGO_PKG_VERSION"));

/// The names of a provider's variables, and the default endpoint.
pub(crate) struct Variables {
    pub api_url: &'static str,
    pub user_agent: &'static str,
    pub default_api_url: &'static str,
}

impl Variables {
    /// The endpoint that the settings name, or the default.
    pub fn endpoint(&self, settings: &Settings<'_>) -> Result<String, ConfigError> {
        let url = value(settings, self.api_url).unwrap_or_else(|| self.default_api_url.into());
        endpoint(self.api_url, &url)
    }
}

/// The credential and endpoint of one account.
#[derive(Debug)]
pub(crate) struct Access {
    /// Scheme, host and optional path, without a trailing slash.
    pub endpoint: String,
    pub credential: Arc<dyn Credential>,
    pub user_agent: HeaderValue,
    /// The time of day, for signatures.
    pub clock: Clock,
}

impl Access {
    pub fn read(
        settings: &Settings<'_>,
        variables: &Variables,
        credential: Arc<dyn Credential>,
    ) -> Result<Self, ConfigError> {
        let user_agent = variables.user_agent;
        let agent = value(settings, user_agent).unwrap_or_else(|| DEFAULT_USER_AGENT.into());
        Ok(Self {
            endpoint: variables.endpoint(settings)?,
            credential,
            user_agent: HeaderValue::from_str(&agent)
                .map_err(|_| unusable(user_agent, "has characters that no header may have"))?,
            clock: settings.clock.clone(),
        })
    }
}

/// A variable's trimmed value. An empty variable counts as unset.
pub(crate) fn value(settings: &Settings<'_>, name: &str) -> Option<String> {
    let value = (settings.variable)(name)?.trim().to_owned();
    (!value.is_empty()).then_some(value)
}

pub(crate) fn unusable(variable: &'static str, problem: &str) -> ConfigError {
    ConfigError::Unusable { variable, problem: problem.into() }
}

fn endpoint(variable: &'static str, text: &str) -> Result<String, ConfigError> {
    let uri: Uri = text.parse().map_err(|_| unusable(variable, "is not a URL"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(unusable(variable, "is not a URL with a scheme and a host"));
    };
    if authority.as_str().contains('@') || uri.query().is_some() {
        return Err(unusable(variable, "must be scheme, host and path only"));
    }
    if *scheme != Scheme::HTTPS && *scheme != Scheme::HTTP {
        return Err(unusable(variable, "must be https or http"));
    }
    Ok(format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')))
}

/// Whether requests to `url` can be read on the network: plain HTTP to another machine.
pub(crate) fn is_exposed(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    uri.scheme() == Some(&Scheme::HTTP) && !uri.host().is_some_and(is_this_machine)
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
}
