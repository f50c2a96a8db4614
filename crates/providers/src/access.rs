//! Endpoint, token and user agent of an account: the settings common to all providers.

use std::fmt;
use std::net::IpAddr;

use http::uri::Scheme;
use http::{HeaderValue, Uri};

use crate::vendor::{ConfigError, Settings};

const DEFAULT_USER_AGENT: &str = concat!("pontoon/", env!("CARGO_PKG_VERSION"));

/// The names of a provider's variables, and the default endpoint.
pub(crate) struct Variables {
    pub token: &'static str,
    pub api_url: &'static str,
    pub user_agent: &'static str,
    pub default_api_url: &'static str,
}

/// The credential and endpoint of one account.
#[derive(Debug)]
pub(crate) struct Access {
    /// Scheme, host and optional path, without a trailing slash.
    pub endpoint: String,
    pub token: Token,
    pub user_agent: HeaderValue,
}

impl Access {
    pub fn read(settings: &Settings<'_>, variables: &Variables) -> Result<Self, ConfigError> {
        let Variables { token, api_url, user_agent, default_api_url } = *variables;
        let url = value(settings, api_url).unwrap_or_else(|| default_api_url.into());
        let agent = value(settings, user_agent).unwrap_or_else(|| DEFAULT_USER_AGENT.into());
        let secret = value(settings, token).ok_or(ConfigError::Missing(token))?;
        Ok(Self {
            endpoint: endpoint(api_url, &url)?,
            token: Token::new(token, secret)?,
            user_agent: HeaderValue::from_str(&agent)
                .map_err(|_| unusable(user_agent, "has characters that no header may have"))?,
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

/// An access token. `Debug` output hides the value.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    fn new(variable: &'static str, text: String) -> Result<Self, ConfigError> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(unusable(variable, "has spaces, control or non-ASCII characters in it"))
        }
    }

    /// The `Authorization` header, marked sensitive so that `Debug` output hides the token.
    pub fn bearer(&self) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// `text` with every copy of the token replaced, in case a server echoed the token.
    pub fn strike_from(&self, text: &str) -> String {
        text.replace(&self.0, "[token]")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
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
