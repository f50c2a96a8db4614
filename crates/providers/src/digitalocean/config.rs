//! DigitalOcean's settings, parsed once.

use std::fmt;
use std::net::IpAddr;

use http::uri::Scheme;
use http::{HeaderValue, Uri};

use crate::vendor::{ConfigError, Settings};

const TOKEN: &str = "DIGITALOCEAN_ACCESS_TOKEN";
const API_URL: &str = "DIGITALOCEAN_API_URL";
const USER_AGENT: &str = "DIGITALOCEAN_USER_AGENT";
const PROJECT_ID: &str = "DIGITALOCEAN_PROJECT_ID";

const DEFAULT_API_URL: &str = "https://api.digitalocean.com";
const DEFAULT_USER_AGENT: &str = concat!("pontoon/", env!("CARGO_PKG_VERSION"));

/// One account and how to reach it.
#[derive(Debug)]
pub(super) struct Config {
    /// Scheme, host and perhaps a path, without a slash at the end.
    pub endpoint: String,
    pub token: Token,
    pub user_agent: HeaderValue,
    /// The project that addresses created by region go into.
    pub project: Option<String>,
}

impl Config {
    pub fn read(settings: &Settings<'_>) -> Result<Self, ConfigError> {
        let get = |name| {
            let value = (settings.variable)(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let user_agent = get(USER_AGENT).unwrap_or_else(|| DEFAULT_USER_AGENT.into());
        let project = get(PROJECT_ID);
        if project.iter().any(|id| id.chars().any(char::is_control)) {
            return Err(unusable(PROJECT_ID, "has control characters in it"));
        }
        Ok(Self {
            endpoint: endpoint(&get(API_URL).unwrap_or_else(|| DEFAULT_API_URL.into()))?,
            token: Token::new(get(TOKEN).ok_or(ConfigError::Missing(TOKEN))?)?,
            user_agent: HeaderValue::from_str(&user_agent)
                .map_err(|_| unusable(USER_AGENT, "has characters that no header may have"))?,
            project,
        })
    }
}

/// The access token, which no formatting shows.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    fn new(text: String) -> Result<Self, ConfigError> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(unusable(TOKEN, "has spaces, control or non-ASCII characters in it"))
        }
    }

    /// The `Authorization` header; it too hides its value when it is formatted.
    pub fn bearer(&self) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// `text` without the token, should a server have echoed it.
    pub fn strike_from(&self, text: &str) -> String {
        text.replace(&self.0, "[token]")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

fn endpoint(text: &str) -> Result<String, ConfigError> {
    let uri: Uri = text.parse().map_err(|_| unusable(API_URL, "is not a URL"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(unusable(API_URL, "is not a URL with a scheme and a host"));
    };
    if authority.as_str().contains('@') || uri.query().is_some() {
        return Err(unusable(API_URL, "must be scheme, host and path only"));
    }
    if *scheme != Scheme::HTTPS && !(*scheme == Scheme::HTTP && is_this_machine(authority.host())) {
        return Err(unusable(API_URL, "must be https (plain http only to this machine)"));
    }
    Ok(format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
}

fn unusable(variable: &'static str, problem: &str) -> ConfigError {
    ConfigError::Unusable { variable, problem: problem.into() }
}
