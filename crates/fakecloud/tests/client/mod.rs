//! A plain test client of the in-process service.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "test support")]

use std::net::IpAddr;

use bytes::Bytes;
use fakecloud::{FakeCloud, Lost};
use http::{HeaderMap, Request};
use serde_json::Value;
use tower::ServiceExt;

/// A cloud without a dump for `PONTOON_EXCHANGES`: the requests of these tests are partly invalid.
pub fn fresh() -> FakeCloud {
    let cloud = FakeCloud::new();
    cloud.dump_on_drop(None);
    cloud
}

/// An answer of the service.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap()
    }
}

/// Sends a request with a valid token.
pub async fn send(
    cloud: &FakeCloud,
    method: &str,
    path: &str,
    body: Value,
) -> Result<Answer, Lost> {
    send_as(cloud, method, path, body, Some("Bearer secret")).await
}

/// Sends a request with the given `Authorization` header.
pub async fn send_as(
    cloud: &FakeCloud,
    method: &str,
    path: &str,
    body: Value,
    authorization: Option<&str>,
) -> Result<Answer, Lost> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("https://api.digitalocean.com{path}"))
        .header("user-agent", "test/1");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let body = match body {
        Value::Null => Bytes::new(),
        body => {
            request = request.header("content-type", "application/json");
            Bytes::from(body.to_string())
        }
    };
    let response = cloud.service().oneshot(request.body(body).unwrap()).await?;
    let (parts, body) = response.into_parts();
    let body = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into())
    };
    Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
}

pub async fn get(cloud: &FakeCloud, path: &str) -> Answer {
    send(cloud, "GET", path, Value::Null).await.unwrap()
}

pub async fn post(cloud: &FakeCloud, path: &str, body: Value) -> Answer {
    send(cloud, "POST", path, body).await.unwrap()
}

pub async fn delete(cloud: &FakeCloud, path: &str) -> Answer {
    send(cloud, "DELETE", path, Value::Null).await.unwrap()
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
