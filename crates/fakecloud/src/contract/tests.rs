use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::*;

fn contract() -> Contract {
    Contract::new(&json!({
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
    }))
    .unwrap()
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
    let error = Contract::new(&json!({
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"$ref": "#/components/responses/x"}}}}},
    }));
    assert_eq!(error.unwrap_err().to_string(), "#/components/responses/x leads nowhere");
}
