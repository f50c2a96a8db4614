//! Listings, page by page: of one zone or region, and of all.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::Answer;
use super::filter::Filter;
use super::links::Project;
use super::query;
use super::refusal::{self, Refusal};
use crate::call::Call;
use crate::request_context::Turn;

const LARGEST_SIZE: usize = 500;
const PARAMETERS: [&str; 6] =
    ["filter", "includeAllScopes", "maxResults", "orderBy", "pageToken", "serviceProjectNumber"];

/// A kind of resource in listings.
pub(super) struct Listing {
    /// `address`
    pub(super) one: &'static str,
    /// `addresses`
    pub(super) many: &'static str,
}

/// A resource and its scope, `regions/us-central1`.
pub(super) type Item = (String, Value);

/// Answers a listing of one scope. The vendor leaves out empty lists.
pub(super) fn one_scope(
    turn: &Turn<'_>,
    call: &Call,
    project: Project<'_>,
    listing: &Listing,
    scope: &str,
    items: Vec<Item>,
) -> Answer {
    query::only(call, &["filter", "maxResults", "orderBy", "pageToken"])?;
    let (shown, next) = cut(turn, call, items)?;
    let path = format!("{scope}/{}", listing.many);
    let mut body = head(project, &format!("compute#{}List", listing.one), &path, next);
    if !shown.is_empty() {
        body.insert("items".to_owned(), shown.into_iter().map(|(_, shown)| shown).collect());
    }
    Ok(refusal::reply(StatusCode::OK, &Value::Object(body)))
}

/// Answers a listing of all scopes. Scopes without a resource on the page have a warning instead.
pub(super) fn all_scopes(
    turn: &Turn<'_>,
    call: &Call,
    project: Project<'_>,
    listing: &Listing,
    scopes: impl IntoIterator<Item = String>,
    items: Vec<Item>,
) -> Answer {
    query::only(call, &PARAMETERS)?;
    let (shown, next) = cut(turn, call, items)?;
    let path = format!("aggregated/{}", listing.many);
    let mut body = head(project, &format!("compute#{}AggregatedList", listing.one), &path, next);
    let mut by_scope = Map::new();
    for scope in scopes {
        let warning = json!({"warning": {
            "code": "NO_RESULTS_ON_PAGE",
            "message": format!("There are no results for scope '{scope}' on this page."),
            "data": [{"key": "scope", "value": scope}],
        }});
        by_scope.insert(scope, warning);
    }
    for (scope, shown) in shown {
        let entry = by_scope.entry(scope).or_insert_with(|| json!({}));
        match entry[listing.many].as_array_mut() {
            Some(all) => all.push(shown),
            None => *entry = json!({listing.many: [shown]}),
        }
    }
    body.insert("items".to_owned(), Value::Object(by_scope));
    Ok(refusal::reply(StatusCode::OK, &Value::Object(body)))
}

fn head(project: Project<'_>, kind: &str, path: &str, next: Option<String>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("kind".to_owned(), json!(kind));
    body.insert("id".to_owned(), json!(project.path(path)));
    body.insert("selfLink".to_owned(), json!(project.link(path)));
    if let Some(next) = next {
        body.insert("nextPageToken".to_owned(), json!(next));
    }
    body
}

/// The items of the page that a call asks for, and the token of the next page.
fn cut(
    turn: &Turn<'_>,
    call: &Call,
    mut items: Vec<Item>,
) -> Result<(Vec<Item>, Option<String>), Refusal> {
    let filter = Filter::of(call)?;
    let (from, size) = (first(call)?, size(call)?);
    items.retain(|(_, shown)| filter.fits(shown));
    order(call, &mut items)?;
    // A gap: the rest moves up as if an item of an earlier page had been deleted meanwhile.
    let from = from + usize::from(turn.weather.own.page_gap && from > 0);
    let next = (from + size < items.len()).then(|| token(from + size));
    Ok((items.into_iter().skip(from).take(size).collect(), next))
}

fn order(call: &Call, items: &mut [Item]) -> Result<(), Refusal> {
    let text = |item: &Item, field: &str| item.1[field].as_str().unwrap_or_default().to_owned();
    items.sort_by_cached_key(|item| (item.0.clone(), text(item, "name")));
    match call.parameter("orderBy").unwrap_or_default() {
        "" | "name" => {}
        "creationTimestamp desc" => {
            items.sort_by_cached_key(|item| std::cmp::Reverse(text(item, "creationTimestamp")));
        }
        other => {
            let why = "Only name and creationTimestamp desc are supported.";
            return Err(Refusal::invalid("orderBy", other, why));
        }
    }
    Ok(())
}

fn size(call: &Call) -> Result<usize, Refusal> {
    let Some(given) = call.parameter("maxResults") else { return Ok(LARGEST_SIZE) };
    match given.parse() {
        // The vendor documents 0 without saying what it does; here it is no limit.
        Ok(0) => Ok(LARGEST_SIZE),
        Ok(size) if size <= LARGEST_SIZE => Ok(size),
        _ => {
            let why = "Values must be within the range: [0, 500]";
            Err(Refusal::invalid("maxResults", given, why))
        }
    }
}

/// A token is the number of the page's first item, which callers need not know.
fn token(first: usize) -> String {
    format!("CAE{first:x}")
}

fn first(call: &Call) -> Result<usize, Refusal> {
    let Some(given) = call.parameter("pageToken").filter(|given| !given.is_empty()) else {
        return Ok(0);
    };
    let first = given.strip_prefix("CAE").and_then(|hex| usize::from_str_radix(hex, 16).ok());
    first.ok_or_else(|| Refusal::invalid("pageToken", given, "The page token is invalid."))
}
