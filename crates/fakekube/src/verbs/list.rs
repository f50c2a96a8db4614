//! Listing, in a single piece or in pages of a snapshot.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::accept::Form;
use crate::object;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::selector::Selector;
use crate::store::Compacted;

use super::{Turn, go_package};

/// A continue token.
struct Token {
    /// Revision of the snapshot; `None` means the current revision.
    revision: Option<u64>,
    /// The first key, relative to the collection.
    start: String,
}

/// A page of a list.
pub(super) struct Page {
    pub(super) objects: Vec<Arc<Value>>,
    pub(super) meta: Value,
}

impl Turn<'_> {
    pub(super) fn list(mut self) -> Result<Reply, Refusal> {
        self.params.check_list()?;
        let kind = self.kind();
        let Page { objects, mut meta } = self.page()?;
        let body = match self.form {
            Form::Object | Form::Discovery => {
                if !kind.built_in() {
                    // Custom lists always show `continue`.
                    let fields = meta.as_object_mut();
                    fields.map(|fields| fields.entry("continue").or_insert(json!("")));
                }
                let items: Vec<Value> =
                    objects.iter().map(|stored| object::load_item(&kind, stored)).collect();
                json!({
                    "kind": kind.list_kind,
                    "apiVersion": kind.api_version(),
                    "metadata": meta,
                    "items": items,
                })
            }
            Form::PartialList => {
                let items = objects.iter().map(|stored| object::partial(&kind, stored));
                json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta,
                    "items": items.collect::<Value>(),
                })
            }
            Form::Partial => {
                let message = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{}.{})",
                    go_package(&kind),
                    if kind.built_in() { &kind.list_kind } else { "UnstructuredList" },
                );
                return Err(Refusal::not_acceptable(message));
            }
            Form::Table(tables) => {
                let objects: Vec<Value> =
                    objects.iter().map(|stored| object::load(&kind, stored)).collect();
                tables.render(&kind, &objects, meta, &self.params.include_object, self.now)
            }
        };
        Ok(Reply::json(200, body))
    }

    pub(super) fn selector(&self) -> Result<Selector, Refusal> {
        let params = &self.params;
        Selector::parse(&self.target.kind, &params.label_selector, &params.field_selector)
    }

    /// The requested objects, and the list's metadata.
    pub(super) fn page(&self) -> Result<Page, Refusal> {
        let selector = self.selector()?;
        let token = self.token()?;
        let revision = self.snapshot(token.as_ref())?;
        let expired = |Compacted(oldest)| match &token {
            Some(token) => Refusal::list_expired(encode(-1, &token.start)),
            None => Refusal::too_old(revision, oldest),
        };
        let store = &self.state.store;
        let objects = store.objects_at(&self.target.kind.storage, revision).map_err(expired)?;
        let prefix = self.target.prefix();
        let first = token.map_or(prefix.clone(), |token| format!("{prefix}{}", token.start));
        let in_collection = objects
            .range(first..)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .filter(|(_, stored)| selector.fits(stored));
        // A list from the cache ignores the limit.
        let limit =
            self.params.limit.filter(|limit| *limit > 0 && self.params.resource_version != "0");
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let mut rest = in_collection;
        let page: Vec<_> = rest.by_ref().take(limit).collect();
        let left = rest.count();
        let mut meta = json!({"resourceVersion": revision.to_string()});
        if let (true, Some((last, _))) = (left > 0, page.last()) {
            let start = format!("{}\0", last.strip_prefix(&prefix).unwrap_or(last));
            meta["continue"] = json!(encode(i64::try_from(revision).unwrap_or(-1), &start));
            if selector.is_empty() {
                meta["remainingItemCount"] = json!(left);
            }
        }
        Ok(Page { objects: page.into_iter().map(|(_, stored)| Arc::clone(stored)).collect(), meta })
    }

    /// The revision to list.
    fn snapshot(&self, token: Option<&Token>) -> Result<u64, Refusal> {
        let asked = self.params.resource_version.as_str();
        if let Some(token) = token {
            if !matches!(asked, "" | "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Refusal::bad_request(message));
            }
            return Ok(token.revision.unwrap_or(self.state.store.revision()));
        }
        if asked.is_empty() {
            return Ok(self.state.visible(self.stale, true));
        }
        let number: u64 = asked.parse().map_err(|_| {
            Refusal::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {asked:?}: strconv.ParseUint: parsing {asked:?}: invalid syntax"
            ))
        })?;
        if self.params.version_match == "Exact" {
            return Ok(number);
        }
        Ok(self.state.visible(self.stale, false))
    }

    fn token(&self) -> Result<Option<Token>, Refusal> {
        let Some(text) = &self.params.go_on else {
            return Ok(None);
        };
        let bad = |why: String| {
            Refusal::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .or_else(|_| STANDARD_NO_PAD.decode(text))
            .map_err(|_| bad("illegal base64 data at input byte 0".to_owned()))?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let first = bytes.first().map_or(' ', |byte| char::from(*byte));
            bad(format!("invalid character '{first}' looking for beginning of value"))
        })?;
        if token["v"] != json!("meta.k8s.io/v1") {
            return Err(bad("server does not recognize this encoded version".to_owned()));
        }
        let start = token["start"].as_str().unwrap_or_default();
        Ok(Some(Token {
            revision: token["rv"].as_u64(),
            start: start.trim_start_matches('/').to_owned(),
        }))
    }
}

/// A continue token in the server's format.
fn encode(revision: i64, start: &str) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("/{start}")});
    URL_SAFE_NO_PAD.encode(token.to_string())
}
