//! Checks recorded exchanges against a vendor's OpenAPI 3 or discovery document: validates the
//! emulator, and the recorded clients.

mod beyond;
mod discovery;
mod document;
mod schema;

use std::collections::BTreeSet;
use std::path::Path;

use fakecloud::{Answered, Exchange};
use percent_encoding::percent_decode_str;
use serde_json::Value;

pub use beyond::Beyond;
use document::{Operation, Place, ResponseRule};

/// An `operationId` of the document.
pub type OperationId = String;

/// The reason why a document cannot be used.
#[derive(Debug)]
pub struct Unusable(String);

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

/// The part of an exchange with the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// No operation has the method and path, or a path parameter is wrong.
    Path,
    /// A query parameter is unknown, missing or wrong.
    Query,
    /// The request body is missing or wrong.
    RequestBody,
    /// The status is not documented.
    Status,
    /// A documented header is missing or wrong.
    ResponseHeader,
    /// The response body is missing, wrong, or not expected.
    ResponseBody,
}

/// A violation of the document.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Short description of the exchange.
    pub exchange: String,
    /// The operation, if found.
    pub operation: Option<OperationId>,
    /// Place of the violation in the exchange.
    pub part: Part,
    /// Explanation for people.
    pub why: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operation = self.operation.as_deref().unwrap_or("no operation");
        let Self { exchange, part, why, .. } = self;
        write!(f, "{exchange} ({operation}): {part:?}: {why}")
    }
}

impl std::error::Error for Violation {}

/// A vendor's document, compiled for checks.
#[derive(Debug)]
pub struct Contract {
    operations: Vec<Operation>,
    beyond: &'static Beyond,
}

type Verdict = Result<(), (Part, String)>;

impl Contract {
    /// Loads and compiles a document, with the vendor's further rules.
    ///
    /// # Errors
    /// If the file cannot be read, is neither OpenAPI 3 in JSON nor a discovery document, or has a
    /// broken reference or schema.
    pub fn load(path: &Path, beyond: &'static Beyond) -> Result<Self, Unusable> {
        let unusable =
            |error: &dyn std::fmt::Display| Unusable(format!("{}: {error}", path.display()));
        let text = std::fs::read(path).map_err(|error| unusable(&error))?;
        let document = serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
        Self::new(&document, beyond).map_err(|error| unusable(&error))
    }

    /// Compiles a document, with the vendor's further rules.
    ///
    /// # Errors
    /// If the value is neither OpenAPI 3 nor a discovery document, or has a broken reference or
    /// schema.
    pub fn new(document: &Value, beyond: &'static Beyond) -> Result<Self, Unusable> {
        let operations = if discovery::is_one(document) {
            document::operations(&discovery::openapi(document), beyond)
        } else {
            document::operations(document, beyond)
        };
        let operations = operations.map_err(Unusable)?;
        Ok(Self { operations, beyond })
    }

    /// Checks a whole exchange: the request, and the answer if there is any.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self, exchange: &Exchange) -> Result<OperationId, Violation> {
        self.check_request(exchange)?;
        self.check_response(exchange)
    }

    /// Checks the request of an exchange.
    ///
    /// # Errors
    /// The first violation.
    pub fn check_request(&self, exchange: &Exchange) -> Result<OperationId, Violation> {
        let (operation, values) = self.find(exchange)?;
        path_parameters(operation, &values)
            .and_then(|()| query(operation, exchange.query()))
            .and_then(|()| request_body(operation, exchange, self.beyond))
            .map_err(|found| violation(exchange, Some(operation), found))?;
        Ok(operation.id.clone())
    }

    /// Checks the answer of an exchange. Passes without an answer, and for raw answers of a rule.
    ///
    /// # Errors
    /// The first violation.
    pub fn check_response(&self, exchange: &Exchange) -> Result<OperationId, Violation> {
        let (operation, _) = self.find(exchange)?;
        if let Some(answer) = exchange.answer.as_ref().filter(|_| !exchange.raw) {
            response(operation, answer)
                .map_err(|found| violation(exchange, Some(operation), found))?;
        }
        Ok(operation.id.clone())
    }

    /// The operations of the document that are missing in `exercised`, in the document's order.
    #[must_use]
    pub fn never_exercised(&self, exercised: &[OperationId]) -> Vec<String> {
        let exercised: BTreeSet<&str> = exercised.iter().map(String::as_str).collect();
        let ids = self.operations.iter().map(|o| &o.id);
        ids.filter(|id| !exercised.contains(id.as_str())).cloned().collect()
    }

    /// The operation of a call, and the values of its path parameters. Paths without parameters
    /// take precedence.
    fn find(&self, exchange: &Exchange) -> Result<(&Operation, Vec<String>), Violation> {
        let segments: Vec<String> = exchange
            .path()
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let fits = self
            .operations
            .iter()
            .filter(|o| o.method.eq_ignore_ascii_case(&exchange.method))
            .filter_map(|o| Some((o, o.template.values(&segments)?)));
        fits.min_by_key(|(_, values)| values.len()).ok_or_else(|| {
            let why = "the document has no such method and path".to_owned();
            violation(exchange, None, (Part::Path, why))
        })
    }
}

fn violation(
    exchange: &Exchange,
    operation: Option<&Operation>,
    found: (Part, String),
) -> Violation {
    let Exchange { sequence, method, target, .. } = exchange;
    let status = exchange.status().map_or("no answer".to_owned(), |s| s.to_string());
    Violation {
        exchange: format!("#{sequence} {method} {target} -> {status}"),
        operation: operation.map(|o| o.id.clone()),
        part: found.0,
        why: found.1,
    }
}

fn path_parameters(operation: &Operation, values: &[String]) -> Verdict {
    for (name, value) in operation.template.names().zip(values) {
        let known = operation.parameter(Place::Path, name);
        let rule = known.ok_or_else(|| (Part::Path, format!("{name} is not documented")))?;
        rule.check(value).map_err(|why| (Part::Path, format!("{name}={value}: {why}")))?;
    }
    Ok(())
}

fn query(operation: &Operation, query: &str) -> Verdict {
    let given: Vec<(String, String)> =
        form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    for (name, value) in &given {
        let known = operation.parameter(Place::Query, name);
        let rule = known.ok_or_else(|| (Part::Query, format!("{name} is not documented")))?;
        rule.check(value).map_err(|why| (Part::Query, format!("{name}={value}: {why}")))?;
    }
    let missing = operation.parameters.iter().find(|p| {
        p.place == Place::Query && p.required && !given.iter().any(|(n, _)| *n == p.name)
    });
    match missing {
        Some(p) => Err((Part::Query, format!("{} is missing", p.name))),
        None => Ok(()),
    }
}

fn request_body(operation: &Operation, exchange: &Exchange, beyond: &Beyond) -> Verdict {
    let wrong = |why: String| (Part::RequestBody, why);
    match (&operation.body, exchange.body.is_empty()) {
        (None, true) => Ok(()),
        (None, false) => Err(wrong("no body is documented".to_owned())),
        (Some(rule), true) if rule.required => Err(wrong("is missing".to_owned())),
        (Some(_), true) => Ok(()),
        (Some(rule), false) => {
            let body: Value =
                serde_json::from_slice(&exchange.body).map_err(|error| wrong(error.to_string()))?;
            rule.schema.check(&body).map_err(wrong)?;
            (beyond.request)(&operation.id, &body).map_err(wrong)
        }
    }
}

fn response(operation: &Operation, answer: &Answered) -> Verdict {
    let rule = operation.response(answer.status).ok_or_else(|| {
        let why = format!("{} is not documented", answer.status);
        (Part::Status, why)
    })?;
    headers(rule, answer)?;
    let wrong = |why: String| (Part::ResponseBody, why);
    let Some(schema) = &rule.body else {
        if answer.body.is_empty() {
            return Ok(());
        }
        return Err(wrong("no body is documented".to_owned()));
    };
    let body: Value =
        serde_json::from_slice(&answer.body).map_err(|error| wrong(error.to_string()))?;
    schema.check(&body).map_err(wrong)?;
    if answer.status < 300 {
        let missing = rule.envelope.iter().find(|key| body.get(key.as_str()).is_none());
        if let Some(key) = missing {
            return Err(wrong(format!("{key} is missing")));
        }
        rule.further.check(&body).map_err(wrong)?;
    }
    Ok(())
}

fn headers(rule: &ResponseRule, answer: &Answered) -> Verdict {
    for header in &rule.headers {
        let wrong = |why: String| (Part::ResponseHeader, format!("{}: {why}", header.name));
        let value = answer
            .header(&header.name.to_ascii_lowercase())
            .ok_or_else(|| wrong("is missing".to_owned()))?;
        header.check(value).map_err(wrong)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
