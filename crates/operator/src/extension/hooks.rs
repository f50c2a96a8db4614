//! The hooks, their handlers and their paths.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::message::{API, failure, request, response};
use super::{Extension, gate, patches};

/// The hook that lists the others.
const DISCOVERY: &str = "Discovery";

/// A hook with our handler.
#[derive(Debug)]
pub(super) struct Hook {
    /// The hook's name.
    name: &'static str,
    /// The end of the handler's name.
    handler: &'static str,
    /// Longest time that Cluster API waits for an answer, in seconds.
    timeout: u32,
    /// What Cluster API does without an answer: `Fail` waits, `Ignore` goes on.
    policy: &'static str,
    answer: fn(&Extension, &Value) -> Result<Value, String>,
}

static HOOKS: [Hook; 4] = [
    Hook {
        name: "GeneratePatches",
        handler: "generate-patches",
        timeout: 30,
        policy: "Fail",
        answer: patches::answer,
    },
    Hook {
        name: "BeforeClusterCreate",
        handler: "before-cluster-create",
        timeout: 10,
        policy: "Fail",
        answer: gate::answer,
    },
    Hook {
        name: "BeforeClusterDelete",
        handler: "before-delete",
        timeout: 10,
        policy: "Ignore",
        answer: nothing_to_do,
    },
    Hook {
        name: "AfterClusterUpgrade",
        handler: "after-upgrade",
        timeout: 10,
        policy: "Ignore",
        answer: nothing_to_do,
    },
];

/// The claims of a deleted Cluster go when its machines are gone, and an upgrade changes no VIP. Nothing
/// in the request could make a difference.
fn nothing_to_do(_: &Extension, _: &Value) -> Result<Value, String> {
    Ok(json!({}))
}

/// What a path asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route {
    /// The page that says that the server runs.
    Status,
    /// The list of handlers.
    Discovery,
    /// A hook.
    Hook(&'static Hook),
}

/// A request that leads nowhere.
#[derive(Debug)]
pub(super) struct Astray {
    pub status: StatusCode,
    /// The method that the path has, if any.
    pub allow: Option<Method>,
    pub answer: Value,
}

impl Extension {
    /// What a request asks for.
    pub(super) fn route(&self, method: &Method, path: &str) -> Result<Route, Astray> {
        let Some((route, wanted)) = self.known(path) else {
            let message = "no handler at this path; Discovery lists the handlers";
            let answer = failure(message);
            return Err(Astray { status: StatusCode::NOT_FOUND, allow: None, answer });
        };
        if *method == wanted {
            return Ok(route);
        }
        let answer = failure(&format!("this path has the method {wanted} alone"));
        Err(Astray { status: StatusCode::METHOD_NOT_ALLOWED, allow: Some(wanted), answer })
    }

    fn known(&self, path: &str) -> Option<(Route, Method)> {
        if path == "/" {
            return Some((Route::Status, Method::GET));
        }
        let hook = path.strip_prefix('/')?.strip_prefix(API)?.strip_prefix('/')?;
        if hook == DISCOVERY.to_ascii_lowercase() {
            return Some((Route::Discovery, Method::POST));
        }
        let (hook, handler) = hook.split_once('/')?;
        let is_it =
            |one: &&Hook| hook == one.name.to_ascii_lowercase() && handler == self.handler(one);
        HOOKS.iter().find(is_it).map(|hook| (Route::Hook(hook), Method::POST))
    }

    /// The answer to a request with this body, or with a body that could not be read.
    pub(super) fn answer(&self, route: Route, body: Result<&[u8], String>) -> Value {
        let read = |hook| body.and_then(|body| request(hook, body));
        match route {
            Route::Status => json!({
                "status": "ok",
                "service": "capi-vip-allocator-runtime-extension",
                "version": env!("CARGO_PKG_VERSION"),
            }),
            Route::Discovery => {
                let listed = read(DISCOVERY).map(|_| json!({"handlers": self.handlers()}));
                response(DISCOVERY, listed)
            }
            Route::Hook(hook) => {
                response(hook.name, read(hook.name).and_then(|read| (hook.answer)(self, &read)))
            }
        }
    }

    fn handlers(&self) -> Vec<Value> {
        let one = |hook: &Hook| {
            json!({
                "name": self.handler(hook),
                "requestHook": {"apiVersion": API, "hook": hook.name},
                "timeoutSeconds": hook.timeout,
                "failurePolicy": hook.policy,
            })
        };
        HOOKS.iter().map(one).collect()
    }

    fn handler(&self, hook: &Hook) -> String {
        format!("{}-{}", self.name, hook.handler)
    }
}
