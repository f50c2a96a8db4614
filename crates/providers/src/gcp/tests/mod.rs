//! The contract over the emulator, and answers outside the emulator's repertoire.

mod assigning;
mod chain;
mod creation;
mod egress;
mod emulated;
mod fallback;
mod listing;
mod machines;
mod odd_answers;
mod operations;
mod refusals;
mod request_ids;
mod settings;
mod unassigning;

use serde_json::{Value, json};

use super::*;
use crate::address::Family;
use crate::contract::script::{Script, with_variables};
use crate::contract::{Bench, addresses};
use crate::vendor::ConfigError;

/// Google Cloud on the bench.
struct Google;

impl Bench for Google {
    fn vendor(&self) -> &'static Vendor {
        &VENDOR
    }

    fn region(&self) -> &'static str {
        "us-central1"
    }

    fn tells_budget(&self) -> bool {
        false
    }

    fn tells_wait(&self) -> bool {
        false
    }

    fn shows_busy(&self) -> bool {
        false
    }
}

addresses::suite!(Google);

const TOKEN: &str = "ya29.canary0123456789";
const IP: &str = "203.0.113.7";
const V4: Families = Families { v4: true, v6: false };
const BASE: &str = "https://www.googleapis.com/compute/v1/projects/p";

/// The paths of the requests about the address and the machine.
const ADDRESS: &str =
    "/compute/v1/projects/p/aggregated/addresses?maxResults=500&filter=address%3D%22203.0.113.7%22";
const INSTANCE: &str = "/compute/v1/projects/p/zones/us-central1-b/instances/a";

fn ip() -> IpAddr {
    IP.parse().unwrap()
}

fn machine(name: &str) -> MachineId {
    MachineId(format!("p/us-central1-b/{name}"))
}

/// Opens the account behind a script.
trait Opens {
    fn open(&self) -> Arc<dyn AddressProvider>;
    fn open_with(&self, variables: &[(&str, &str)]) -> Arc<dyn AddressProvider>;
}

impl Opens for Script {
    fn open(&self) -> Arc<dyn AddressProvider> {
        self.open_with(&[("GOOGLE_CLOUD_PROJECT", "p")])
    }

    fn open_with(&self, more: &[(&str, &str)]) -> Arc<dyn AddressProvider> {
        let mut variables = vec![("GCP_ACCESS_TOKEN", TOKEN)];
        variables.extend(more);
        open_with(&variables, self.transport()).unwrap().addresses.unwrap()
    }
}

fn open_with(variables: &[(&str, &str)], transport: Transport) -> Opened {
    with_variables(variables, |settings| open(settings, transport))
}

/// The requests of a script without the identifiers of changes.
fn sent(script: &Script) -> Vec<String> {
    let plain = |line: String| match line.find("requestId=") {
        None => line,
        Some(at) => {
            let rest = &line[at + "requestId=".len() + 36..];
            format!("{}{rest}", line[..at].trim_end_matches(['?', '&']))
        }
    };
    script.sent().into_iter().map(plain).collect()
}

/// An address of the project, used by an instance.
fn address(ip: &str, user: Option<&str>) -> Value {
    let mut shown = json!({
        "kind": "compute#address", "name": format!("ip-{}", ip.replace('.', "-")), "address": ip,
        "addressType": "EXTERNAL", "networkTier": "PREMIUM", "status": "RESERVED",
        "region": format!("{BASE}/regions/us-central1"),
    });
    if let Some(user) = user {
        shown["status"] = json!("IN_USE");
        shown["users"] = json!([format!("{BASE}/zones/us-central1-b/instances/{user}")]);
    }
    shown
}

/// A page of a listing.
fn page(addresses: &[Value]) -> Value {
    let none = json!({ "warning": { "code": "NO_RESULTS_ON_PAGE" } });
    let mut items = json!({ "global": none, "regions/europe-west1": none });
    if !addresses.is_empty() {
        items["regions/us-central1"] = json!({ "addresses": addresses });
    }
    json!({ "kind": "compute#addressAggregatedList", "items": items })
}

/// The page, followed by another.
fn more(mut page: Value, token: &str) -> Value {
    page["nextPageToken"] = json!(token);
    page
}

/// An instance whose interfaces have these access configs: the name and the address.
fn instance(name: &str, nics: &[Option<(&str, &str)>]) -> Value {
    let nics = nics.iter().enumerate().map(|(number, config)| {
        let mut nic = json!({ "name": format!("nic{number}") });
        if let Some((name, ip)) = config {
            let config = json!({
                "name": name, "natIP": ip, "type": "ONE_TO_ONE_NAT", "networkTier": "PREMIUM",
            });
            nic["accessConfigs"] = json!([config]);
        }
        nic
    });
    json!({ "name": name, "networkInterfaces": nics.collect::<Vec<_>>() })
}

/// An instance with an ephemeral address.
fn with_own(name: &str) -> Value {
    instance(name, &[Some(("External NAT", "34.1.2.3"))])
}

fn operation(status: &str) -> Value {
    json!({ "kind": "compute#operation", "name": "operation-1", "status": status })
}

fn failed(code: &str, message: &str) -> Value {
    let mut operation = operation("DONE");
    operation["error"] = json!({ "errors": [{ "code": code, "message": message }] });
    operation
}

fn problem(code: u16, reason: &str, message: &str) -> Value {
    let errors = json!([{ "reason": reason, "domain": "global", "message": message }]);
    json!({ "error": { "code": code, "message": message, "errors": errors } })
}

fn not_found() -> Value {
    problem(404, "notFound", "The resource was not found")
}

fn forbidden(permission: &str) -> Value {
    problem(403, "forbidden", &format!("Required '{permission}' permission for 'projects/p'"))
}
