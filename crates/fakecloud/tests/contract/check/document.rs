//! Parses an OpenAPI 3 document into operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::beyond::{Beyond, Further};
use super::schema::{Compiler, Schema};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];
const NOTHING: &Value = &Value::Null;

/// A method and path of the document, with its rules.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) template: Template,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<BodyRule>,
    /// By status, `4XX` or `default`.
    responses: BTreeMap<String, ResponseRule>,
}

impl Operation {
    pub(super) fn parameter(&self, place: Place, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.place == place && p.name == name)
    }

    /// The rule for a status: exact, by class, or the default.
    pub(super) fn response(&self, status: u16) -> Option<&ResponseRule> {
        self.responses
            .get(&status.to_string())
            .or_else(|| self.responses.get(&format!("{}XX", status / 100)))
            .or_else(|| self.responses.get("default"))
    }
}

/// A path with parameters.
#[derive(Debug)]
pub(super) struct Template(Vec<Segment>);

#[derive(Debug)]
enum Segment {
    Literal(String),
    Parameter(String),
}

impl Template {
    fn new(path: &str) -> Self {
        let segments = path.split('/').filter(|s| !s.is_empty()).map(|s| {
            match s.strip_prefix('{').and_then(|s| s.strip_suffix('}')) {
                Some(name) => Segment::Parameter(name.to_owned()),
                None => Segment::Literal(s.to_owned()),
            }
        });
        Self(segments.collect())
    }

    /// The values of the path parameters, if the path matches.
    pub(super) fn values(&self, path: &[String]) -> Option<Vec<String>> {
        if path.len() != self.0.len() {
            return None;
        }
        let mut values = Vec::new();
        for (wanted, given) in self.0.iter().zip(path) {
            match wanted {
                Segment::Literal(literal) if literal == given => {}
                Segment::Literal(_) => return None,
                Segment::Parameter(_) => values.push(given.clone()),
            }
        }
        Some(values)
    }

    /// The names of the parameters, in the order of [`Template::values`].
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Literal(_) => None,
            Segment::Parameter(name) => Some(name.as_str()),
        })
    }
}

/// Location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

/// A parameter or a response header: text that must parse as a value of a schema.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) required: bool,
    kind: String,
    schema: Arc<Schema>,
}

impl Parameter {
    /// Checks the text of a value; the error says why.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        let value = match self.kind.as_str() {
            "integer" | "number" | "boolean" => serde_json::from_str(text).unwrap_or(json!(text)),
            "array" => text.split(',').collect(),
            _ => json!(text),
        };
        self.schema.check(&value)
    }
}

/// Rules for a request body.
#[derive(Debug)]
pub(super) struct BodyRule {
    pub(super) required: bool,
    pub(super) schema: Arc<Schema>,
}

/// Rules for a response.
#[derive(Debug)]
pub(super) struct ResponseRule {
    pub(super) headers: Vec<Parameter>,
    pub(super) body: Option<Arc<Schema>>,
    /// The top-level properties of the body. All are treated as required, although documents seldom
    /// say so.
    pub(super) envelope: Vec<String>,
    pub(super) further: Further,
}

struct Reader<'a> {
    document: &'a Value,
    compiler: Compiler,
    beyond: &'static Beyond,
}

/// Parses all operations of a document.
pub(super) fn operations(
    document: &Value,
    beyond: &'static Beyond,
) -> Result<Vec<Operation>, String> {
    let version = document["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(format!("not OpenAPI 3 but {version:?}"));
    }
    let compiler = Compiler::new(&document["components"]);
    let reader = Reader { document, compiler, beyond };
    let base = base_path(document["servers"][0]["url"].as_str().unwrap_or_default());
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                let template = Template::new(&format!("{base}{path}"));
                operations.push(reader.operation(method, template, item, operation)?);
            }
        }
    }
    if operations.is_empty() {
        return Err("has no operations".to_owned());
    }
    Ok(operations)
}

/// `/v1` of `https://api.example.com/v1`.
fn base_path(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.find('/').map_or("", |at| after_scheme[at..].trim_end_matches('/'))
}

impl<'a> Reader<'a> {
    /// Follows references; returns other values unchanged.
    fn resolve(&self, value: &'a Value) -> Result<&'a Value, String> {
        let mut value = value;
        while let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#');
            let found = pointer.and_then(|pointer| self.document.pointer(pointer));
            value = found.ok_or_else(|| format!("{reference} leads nowhere"))?;
        }
        Ok(value)
    }

    fn operation(
        &self,
        method: &str,
        template: Template,
        item: &'a Value,
        operation: &'a Value,
    ) -> Result<Operation, String> {
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        let shared = item["parameters"].as_array().into_iter().flatten();
        let own = operation["parameters"].as_array().into_iter().flatten();
        let mut parameters = Vec::new();
        for parameter in own.chain(shared) {
            let parameter = self.resolve(parameter)?;
            let place = match parameter["in"].as_str() {
                Some("path") => Place::Path,
                Some("query") => Place::Query,
                _ => continue,
            };
            let name = parameter["name"].as_str().unwrap_or_default();
            parameters.push(self.parameter(name, place, parameter)?);
        }
        let body = match operation.get("requestBody") {
            Some(body) => self.body(self.resolve(body)?)?,
            None => None,
        };
        let mut responses = BTreeMap::new();
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            responses.insert(status.clone(), self.response(self.resolve(response)?)?);
        }
        Ok(Operation { id, method: method.to_owned(), template, parameters, body, responses })
    }

    fn parameter(
        &self,
        name: &str,
        place: Place,
        parameter: &'a Value,
    ) -> Result<Parameter, String> {
        let schema = parameter.get("schema").unwrap_or(NOTHING);
        let kind = self.resolve(schema)?["type"].as_str().unwrap_or_default();
        Ok(Parameter {
            name: name.to_owned(),
            place,
            required: parameter["required"] == json!(true),
            kind: kind.to_owned(),
            schema: self.compiler.compile(if schema.is_null() {
                &Value::Bool(true)
            } else {
                schema
            })?,
        })
    }

    fn body(&self, body: &'a Value) -> Result<Option<BodyRule>, String> {
        let Some(schema) = json_schema(body) else {
            return Ok(None);
        };
        Ok(Some(BodyRule {
            required: body["required"] == json!(true),
            schema: self.compiler.compile(schema)?,
        }))
    }

    fn response(&self, response: &'a Value) -> Result<ResponseRule, String> {
        let mut headers = Vec::new();
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            headers.push(self.parameter(name, Place::Header, self.resolve(header)?)?);
        }
        let schema = json_schema(response);
        let mut envelope = Vec::new();
        if let Some(schema) = schema {
            self.properties(schema, &mut envelope)?;
        }
        Ok(ResponseRule {
            headers,
            body: schema.map(|schema| self.compiler.compile(schema)).transpose()?,
            further: self.beyond.response(&envelope, &self.compiler)?,
            envelope,
        })
    }

    /// The property names of a schema, through references and `allOf`.
    fn properties(&self, schema: &'a Value, into: &mut Vec<String>) -> Result<(), String> {
        let schema = self.resolve(schema)?;
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.properties(part, into)?;
        }
        let names = schema["properties"].as_object().into_iter().flatten();
        into.extend(names.map(|(name, _)| name.clone()));
        Ok(())
    }
}

fn json_schema(holder: &Value) -> Option<&Value> {
    let content = holder.get("content")?.as_object()?;
    let json = content.iter().find(|(kind, _)| kind.starts_with("application/json"));
    json?.1.get("schema")
}
