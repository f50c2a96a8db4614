//! Dispatch and implementation of requests.

mod apply;
mod cascade;
mod create;
mod delete;
mod evict;
mod fixed;
mod list;
mod patch;
mod read;
mod scale;
mod update;
pub(crate) mod watch;

pub(crate) use delete::marked;

use std::sync::Arc;
use std::time::Duration;

use fakehttp::RuleId;
use http::Method;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::accept::{self, Form};
use crate::call::Call;
use crate::faults::Weather;
use crate::kubectl;
use crate::object;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::registry::Kind;
use crate::reply::Reply;
use crate::route::{self, Target};
use crate::state::{Shared, State};

/// Longest wait of a read for a future resource version.
const PATIENCE: Duration = Duration::from_secs(3);

/// The context of a request, with exclusive access to the state.
pub(crate) struct Turn<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) call: &'a Call,
    pub(crate) target: Target,
    pub(crate) params: Params,
    pub(crate) form: Form,
    pub(crate) now: Timestamp,
    pub(crate) stale: Option<RuleId>,
}

/// Executes a request and returns its reply.
pub(crate) async fn answer(shared: &Shared, call: &Call, weather: &Weather) -> Reply {
    let late = wait_for_revision(shared, call, weather).await;
    let mut state = shared.lock();
    let answered = match late {
        Some(refusal) => Err(refusal),
        None => serve(&mut state, call, weather),
    };
    let mut reply = answered.unwrap_or_else(|refusal| {
        if refusal.unsupported {
            let line = format!("{} {}: {}", call.method, call.target(), refusal.message);
            state.unknown.push(line);
        }
        Reply::refused(&refusal)
    });
    reply.warnings = std::mem::take(&mut state.warnings);
    reply
}

/// Waits until a read's resource version is visible, as the server does while its cache is behind.
async fn wait_for_revision(shared: &Shared, call: &Call, weather: &Weather) -> Option<Refusal> {
    let params = Params::parse(call.query()).ok()?;
    let wanted: u64 = params.resource_version.parse().ok()?;
    if call.method != Method::GET || params.watch || params.version_match == "Exact" {
        return None;
    }
    let mut news = shared.lock().store.news();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let visible = shared.lock().visible(weather.own.stale, false);
        if visible >= wanted {
            return None;
        }
        if timeout_at(deadline, news.heard()).await.is_err() {
            return Some(Refusal::too_large(wanted, visible));
        }
    }
}

/// Executes a request at once.
pub(crate) fn serve(state: &mut State, call: &Call, weather: &Weather) -> Result<Reply, Refusal> {
    let form = accept::form(call.accept())?;
    if let Some(reply) = fixed::answer(state, call, form)? {
        return Ok(reply);
    }
    let target = route::find(&state.registry, call.path())?;
    let params = Params::parse(call.query())?;
    let in_json = kubectl::as_json(call)?;
    let call = in_json.as_ref().unwrap_or(call);
    let now = state.clock.now();
    let stale = weather.own.stale;
    let turn = Turn { state, call, target, params, form, now, stale };
    turn.dispatch()
}

impl Turn<'_> {
    fn dispatch(self) -> Result<Reply, Refusal> {
        let Target { kind, namespace, name, sub } = &self.target;
        let everywhere = kind.namespaced && namespace.is_none();
        let (custom, method) = (!kind.built_in(), &self.call.method);
        match (method.as_str(), name.is_some(), sub.as_deref()) {
            ("GET", false, _) if self.params.watch => self.watch(),
            ("GET", false, _) => self.list(),
            ("GET", true, None | Some("status")) => self.get(),
            ("POST", false, _) if !everywhere => self.create(),
            // The server ignores the name.
            ("POST", true, None) if custom => self.create(),
            ("PUT" | "PATCH", false, _) if custom && !everywhere => {
                Err(Refusal::bad_request("name must be provided"))
            }
            ("POST", true, Some("eviction")) => self.evict(),
            ("GET" | "PUT" | "PATCH", true, Some("scale")) => self.scale(),
            ("PUT", true, sub) if sub != Some("eviction") => self.update(),
            ("PATCH", true, None | Some("status")) => self.patch(),
            ("DELETE", true, None) => self.delete(),
            ("DELETE", false, _) if self.may("deletecollection") && !everywhere => {
                self.delete_collection()
            }
            ("DELETE", true, Some(_)) if custom => Err(Refusal::not_supported_on(kind, "delete")),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    fn may(&self, verb: &str) -> bool {
        self.target.kind.verbs.iter().any(|allowed| allowed == verb)
    }

    pub(crate) fn kind(&self) -> Arc<Kind> {
        Arc::clone(&self.target.kind)
    }

    /// Whether the request is for the status subresource.
    pub(crate) fn status_only(&self) -> bool {
        self.target.sub.as_deref() == Some("status")
    }

    /// An answer with a single object in the requested form.
    fn object_reply(self, status: u16, stored: &Value) -> Result<Reply, Refusal> {
        let kind = self.kind();
        let body = match self.form {
            Form::Object | Form::Discovery => object::load(&kind, stored),
            Form::Partial => object::partial(&kind, stored),
            Form::PartialList => {
                let message = format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
                    go_package(&kind),
                    if kind.built_in() { &kind.kind } else { "Unstructured" },
                );
                return Err(Refusal::not_acceptable(message));
            }
            Form::Table(tables) => {
                let meta = object::table_meta(stored);
                let objects = [object::load(&kind, stored)];
                tables.render(&kind, &objects, meta, &self.params.include_object, self.now)
            }
        };
        Ok(Reply::json(status, body))
    }
}

/// The Go package of the server's internal type, shown in two messages.
pub(crate) fn go_package(kind: &Kind) -> &'static str {
    match kind.group.as_str() {
        _ if !kind.built_in() => "unstructured",
        "coordination.k8s.io" => "coordination",
        "apiextensions.k8s.io" => "apiextensions",
        "apps" => "apps",
        "policy" => "policy",
        _ => "core",
    }
}
