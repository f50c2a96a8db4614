use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::*;

fn compiled(document: &Value) -> Result<Contract, Unusable> {
    Contract::new(document, &Beyond::NOTHING)
}

fn contract() -> Contract {
    compiled(&things()).unwrap()
}

fn things() -> Value {
    json!({
        "openapi": "3.0.0",
        "servers": [{"url": "https://api.example.com/v2"}],
        "paths": {
            "/things": {"post": {
                "operationId": "things_create",
                "parameters": [{"$ref": "#/components/parameters/dry"}],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {
                    "type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}},
                }}}},
                "responses": {"201": {
                    "headers": {"Left": {"schema": {"type": "integer"}}},
                    "content": {"application/json": {"schema": {
                        "properties": {"thing": {"$ref": "#/components/schemas/thing"}},
                    }}},
                }},
            }},
            "/things/{id}": {"delete": {
                "operationId": "things_delete",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
                "responses": {"204": {}, "default": {}},
            }},
        },
        "components": {
            "parameters": {"dry": {"name": "dry", "in": "query", "schema": {"type": "boolean"}}},
            "schemas": {"thing": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "nullable": true, "enum": ["a", "b"]},
                    "ip": {"type": "string", "format": "ipv4"},
                },
            }},
        },
    })
}

fn exchange(method: &str, target: &str, body: Value, status: u16, answer: Value) -> Exchange {
    let bytes = |value: &Value| match value {
        Value::Null => Bytes::new(),
        value => Bytes::from(value.to_string()),
    };
    Exchange {
        sequence: 0,
        arrived: Instant::now(),
        at: String::new(),
        method: method.to_owned(),
        target: target.to_owned(),
        user_agent: None,
        body: bytes(&body),
        mutates: true,
        changed: true,
        raw: false,
        answer: Some(Answered {
            status,
            headers: vec![("left".to_owned(), "7".to_owned())],
            body: bytes(&answer),
        }),
        lost: None,
    }
}

fn created(target: &str, body: Value, answer: Value) -> Exchange {
    exchange("POST", target, body, 201, answer)
}

#[test]
fn what_fits_the_document_passes_and_names_its_operation() {
    let contract = contract();
    let good = json!({"thing": {"name": null, "ip": "192.0.2.1"}});
    let found = contract.check(&created("/v2/things?dry=true", json!({"size": 1}), good));
    assert_eq!(found.unwrap(), "things_create");
    let deleted = exchange("DELETE", "/v2/things/12", Value::Null, 204, Value::Null);
    assert_eq!(contract.check(&deleted).unwrap(), "things_delete");
    assert_eq!(contract.never_exercised(&["things_create".to_owned()]), ["things_delete"]);
}

#[test]
fn everything_else_is_named_by_its_part() {
    let contract = contract();
    let size = || json!({"size": 1});
    let thing = || json!({"thing": {}});
    let mut headless = created("/v2/things", size(), thing());
    headless.answer.as_mut().unwrap().headers.clear();
    for (exchange, part) in [
        (created("/things", size(), thing()), Part::Path),
        (exchange("DELETE", "/v2/things/x", Value::Null, 204, Value::Null), Part::Path),
        (created("/v2/things?wet=true", size(), thing()), Part::Query),
        (created("/v2/things?dry=1", size(), thing()), Part::Query),
        (created("/v2/things", Value::Null, thing()), Part::RequestBody),
        (created("/v2/things", json!({"size": "1"}), thing()), Part::RequestBody),
        (exchange("POST", "/v2/things", size(), 200, thing()), Part::Status),
        (headless, Part::ResponseHeader),
        (created("/v2/things", size(), json!({})), Part::ResponseBody),
        (created("/v2/things", size(), json!({"thing": {"name": "c"}})), Part::ResponseBody),
        (created("/v2/things", size(), json!({"thing": {"ip": "::1"}})), Part::ResponseBody),
        (exchange("DELETE", "/v2/things/1", Value::Null, 204, json!({})), Part::ResponseBody),
    ] {
        let violation = contract.check(&exchange).unwrap_err();
        assert_eq!(violation.part, part, "{violation}");
    }
}

#[test]
fn further_rules_of_the_vendor_are_checked_beyond_the_document() {
    static BEYOND: Beyond = Beyond {
        fields: &[("thing", &["ip"])],
        property: Some(("part", "thing")),
        request: |operation, body| match body["size"].as_u64() {
            Some(0) => Err(format!("{operation} without size")),
            _ => Ok(()),
        },
    };
    let contract = Contract::new(&things(), &BEYOND).unwrap();
    let checked = |size: u8, thing: Value| {
        let made = created("/v2/things", json!({"size": size}), json!({"thing": thing}));
        contract.check(&made).map_err(|violation| violation.why)
    };
    assert!(checked(1, json!({"ip": "192.0.2.1", "part": {"name": "a"}})).is_ok());
    assert_eq!(checked(1, json!({})).unwrap_err(), "thing: ip is missing");
    assert_eq!(checked(0, json!({})).unwrap_err(), "things_create without size");
    let other_part = checked(1, json!({"ip": "192.0.2.1", "part": {"name": "c"}})).unwrap_err();
    assert!(other_part.starts_with("thing/part"), "{other_part}");
}

#[test]
fn answers_that_are_missing_or_raw_are_not_judged() {
    let contract = contract();
    let mut exchange = created("/v2/things", json!({"size": 1}), json!("odd"));
    exchange.raw = true;
    assert!(contract.check(&exchange).is_ok());
    exchange.answer = None;
    assert!(contract.check(&exchange).is_ok());
}

#[test]
fn a_document_with_a_reference_to_nowhere_is_unusable() {
    let error = compiled(&json!({
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"$ref": "#/components/responses/x"}}}}},
    }));
    assert_eq!(error.unwrap_err().to_string(), "#/components/responses/x leads nowhere");
}

/// The same as a discovery document: `POST things` and `GET things/{name}`.
fn discovered() -> Contract {
    compiled(&json!({
        "discoveryVersion": "v1",
        "baseUrl": "https://api.example.com/v1/",
        "parameters": {"alt": {"type": "string", "location": "query", "enum": ["json"]}},
        "resources": {"things": {"methods": {
            "insert": {
                "id": "x.things.insert", "path": "things", "httpMethod": "POST",
                "request": {"$ref": "Thing"}, "response": {"$ref": "Thing"},
            },
            "get": {
                "id": "x.things.get", "path": "things/{name}", "httpMethod": "GET",
                "parameters": {
                    "name": {"type": "string", "location": "path", "required": true, "pattern": "[a-z]+"},
                    "most": {"type": "integer", "location": "query", "minimum": "0"},
                },
                "response": {"$ref": "Thing"},
            },
        }}},
        "schemas": {
            "Thing": {"id": "Thing", "type": "object", "properties": {
                "kind": {"type": "string", "default": "x#thing"},
                "id": {"type": "string", "format": "uint64"},
                "name": {"type": "string", "annotations": {"required": ["x.things.insert"]}},
                "mark": {"type": "string", "format": "byte"},
                "parts": {"type": "array", "items": {"$ref": "Part"}},
                "rest": {"type": "object", "additionalProperties": {"type": "any"}},
            }},
            "Part": {"id": "Part", "type": "object", "properties": {"type": {"type": "string"}}},
        },
    }))
    .unwrap()
}

#[test]
fn a_discovery_document_is_held_against_exchanges_in_the_same_way() {
    let contract = discovered();
    let thing = || json!({"kind": "x#thing", "id": "7", "mark": "aGk=", "parts": [{"type": "a"}], "rest": {"a": 1}});
    let made = exchange("POST", "/v1/things?alt=json", json!({"name": "a"}), 200, thing());
    assert_eq!(contract.check(&made).unwrap(), "x.things.insert");
    let read = |target: &str, answer: Value| exchange("GET", target, Value::Null, 200, answer);
    assert_eq!(contract.check(&read("/v1/things/a?most=1", thing())).unwrap(), "x.things.get");
    let error = json!({"error": {"code": 404, "message": "no", "errors": [
        {"domain": "global", "reason": "notFound", "message": "no"},
    ]}});
    let missing = exchange("GET", "/v1/things/a", Value::Null, 404, error);
    assert_eq!(contract.check(&missing).unwrap(), "x.things.get");
    let with = |field: &str, value: Value| {
        let mut thing = thing();
        thing[field] = value;
        read("/v1/things/a", thing)
    };
    for (exchange, part) in [
        (read("/things/a", thing()), Part::Path),
        (read("/v1/things/a1", thing()), Part::Path),
        (read("/v1/things/a?most=-1", thing()), Part::Query),
        (read("/v1/things/a?alt=xml", thing()), Part::Query),
        (exchange("POST", "/v1/things", json!({}), 200, thing()), Part::RequestBody),
        (
            exchange("POST", "/v1/things", json!({"name": "a", "size": 1}), 200, thing()),
            Part::RequestBody,
        ),
        (exchange("POST", "/v1/things", Value::Null, 200, thing()), Part::RequestBody),
        (read("/v1/things/a", json!({})), Part::ResponseBody),
        (with("kind", json!("x#part")), Part::ResponseBody),
        (with("id", json!(7)), Part::ResponseBody),
        (with("id", json!("x")), Part::ResponseBody),
        (with("mark", json!("!")), Part::ResponseBody),
        (with("parts", json!([{"type": 7}])), Part::ResponseBody),
        (with("more", json!(1)), Part::ResponseBody),
        (
            exchange("GET", "/v1/things/a", Value::Null, 404, json!({"error": "no"})),
            Part::ResponseBody,
        ),
        (exchange("GET", "/v1/things/a", Value::Null, 302, Value::Null), Part::Status),
    ] {
        let violation = contract.check(&exchange).unwrap_err();
        assert_eq!(violation.part, part, "{violation}");
    }
}
