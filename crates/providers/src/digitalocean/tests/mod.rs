//! The contract over the emulator, and answers outside the emulator's repertoire.

mod changes;
mod creation;
mod dns;
mod examples;
mod listing;
mod machines;
mod odd_answers;
mod operations;
mod refusals;
mod secrets;
mod settings;
mod withheld_droplets;

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::contract::properties::{self, JsonHost};
use crate::contract::script::{Script, with_variables};
use crate::contract::{Bench, addresses, records};
use crate::transport::TransportError;
use crate::vendor::ConfigError;

/// DigitalOcean on the bench.
struct Ocean;

impl Bench for Ocean {
    fn vendor(&self) -> &'static Vendor {
        &VENDOR
    }
}

addresses::suite!(Ocean);
records::suite!(dns_contract_suite, Ocean);
properties::suite!(dns_properties, Ocean);

impl JsonHost for Ocean {
    fn record(&self, value: &str, number: u8) -> Value {
        json!({
            "id": 7_000 + u64::from(number), "type": "A", "name": "hello", "ttl": 60, "data": value,
        })
    }

    fn listing(&self, records: Vec<Value>) -> Value {
        json!({ "meta": { "total": records.len() }, "domain_records": records, "links": {} })
    }

    fn created(&self, record: Value) -> Value {
        json!({ "domain_record": record })
    }

    fn listed<'a>(&self, body: &'a Value) -> Option<&'a Vec<Value>> {
        body["domain_records"].as_array()
    }

    fn keys(&self) -> &'static [&'static str] {
        &[
            "domain_records",
            "domain_record",
            "links",
            "pages",
            "next",
            "id",
            "type",
            "name",
            "data",
            "ttl",
            "message",
        ]
    }
}

const TOKEN: &str = "dop_v1_canary0123456789";
const IP: &str = "45.55.96.47";
const IP6: &str = "2604:a880:800:14::79d4:4000";

fn ip() -> IpAddr {
    IP.parse().unwrap()
}

fn ip6() -> IpAddr {
    IP6.parse().unwrap()
}

fn droplet(id: u64) -> MachineId {
    MachineId(id.to_string())
}

/// Opens the account behind a script.
trait Opens {
    fn open(&self) -> Arc<dyn AddressProvider>;
    fn open_with(&self, more: &[(&str, &str)]) -> Arc<dyn AddressProvider>;
}

impl Opens for Script {
    fn open(&self) -> Arc<dyn AddressProvider> {
        self.open_with(&[])
    }

    fn open_with(&self, more: &[(&str, &str)]) -> Arc<dyn AddressProvider> {
        let mut variables = vec![("DIGITALOCEAN_ACCESS_TOKEN", TOKEN)];
        variables.extend(more);
        open_with(&variables, self.transport()).unwrap().addresses.unwrap()
    }
}

fn open_with(variables: &[(&str, &str)], transport: Transport) -> Opened {
    with_variables(variables, |settings| open(settings, transport))
}

fn v4(droplet: Value, locked: bool) -> Value {
    json!({ "reserved_ip": {
        "ip": IP, "droplet": droplet, "region": { "slug": "nyc3" }, "locked": locked,
        "project_id": "746c6152-2fa2-11ed-92d3-27aaa54e4988",
    }})
}

fn problem(id: &str, message: &str) -> Value {
    json!({ "id": id, "message": message })
}

fn unprocessable(message: &str) -> Value {
    problem("unprocessable_entity", message)
}

fn action(status: &str) -> Value {
    json!({ "action": { "id": 72531856, "status": status, "type": "assign_ip" } })
}

fn not_found() -> Value {
    problem("not_found", "The resource you were accessing could not be found.")
}
