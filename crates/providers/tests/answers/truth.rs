//! The claims allowed by the answers, derived without the client's parsing code.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use http::Method;
use pontoon_providers::{
    Accepted, Address, CreateRequest, Created, Families, Family, MachineId, OperationState, Result,
};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::call::{Call, Said, TOKEN};
use crate::exchange::{Answer, Logged};

/// Two listings of 500 pages each, and one check for `droplet:read`.
const MOST_REQUESTS: usize = 1001;

/// Checks the result of a call against its requests and their answers.
pub fn check(call: &Call, result: &Result<Said>, log: &[Logged]) {
    assert!(log.len() <= MOST_REQUESTS, "{} requests", log.len());
    let changes = log.iter().filter(|(request, _)| request.method() != Method::GET);
    assert!(changes.count() <= 1, "changed more than once");
    for (request, _) in log {
        assert_eq!(request.uri().host(), Some("api.digitalocean.com"));
        assert_eq!(request.uri().scheme_str(), Some("https"));
    }
    let seen = Seen { log };
    match result {
        Err(error) => assert!(!error.to_string().contains(TOKEN), "{call:?}: {error}"),
        // Bodies too deep for `Value` cannot be checked.
        Ok(_) if log.iter().flat_map(|(_, answer)| answer).any(Answer::is_deep) => {}
        Ok(said) => assert!(seen.bears_out(call, said), "{call:?}: {said:?}\n{log:#?}"),
    }
}

struct Seen<'a> {
    log: &'a [Logged],
}

impl Seen<'_> {
    fn bears_out(&self, call: &Call, said: &Said) -> bool {
        match (call, said) {
            (Call::List(families), Said::Listed(all)) => self.listed(*families, all),
            (Call::Read(ip), Said::Read(Some(address))) => {
                address.ip == *ip && self.shown(*ip).any(|object| is(&object, address))
            }
            (Call::Read(ip), Said::Read(None)) => self.is_gone(*ip),
            (Call::Assign(ip, machine), Said::Accepted(accepted)) => {
                self.took(accepted) || (is_done(accepted) && self.is_at(*ip, Some(machine)))
            }
            (Call::Unassign(ip), Said::Accepted(accepted)) => {
                self.took(accepted) || (is_done(accepted) && self.is_at(*ip, None))
            }
            (Call::Create(request), Said::Created(created)) => self.created(request, created),
            (Call::Release(ip), Said::Released) => {
                let deleted = self.answers(&Method::DELETE).any(|answer| answer.is_success());
                deleted || self.is_gone(*ip)
            }
            (Call::Operation(_, id), Said::Operation(state)) => self.operation(&id.0, state),
            _ => false,
        }
    }

    fn answers(&self, method: &Method) -> impl Iterator<Item = &Answer> {
        let such = self.log.iter().filter(move |(request, _)| request.method() == method);
        such.filter_map(|(_, answer)| answer.as_ref())
    }

    /// Successful answers to requests for `path`.
    fn got<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Answer> {
        let such = self.log.iter().filter(move |(request, _)| request.uri().path() == path);
        such.filter_map(|(_, answer)| answer.as_ref()).filter(|answer| answer.is_success())
    }

    /// Whether `all` is exactly the union of all pages, with at least one page per family.
    fn listed(&self, families: Families, all: &[Address]) -> bool {
        let asked = [
            (families.v4, Family::V4, "/v2/reserved_ips", "reserved_ips"),
            (families.v6, Family::V6, "/v2/reserved_ipv6", "reserved_ipv6s"),
        ];
        let mut shown: BTreeMap<IpAddr, Vec<Value>> = BTreeMap::new();
        for (_, family, path, key) in asked.into_iter().filter(|(asked, ..)| *asked) {
            let pages: Vec<_> = self.got(path).map(Answer::value).collect();
            if pages.is_empty() {
                return false;
            }
            for page in pages {
                let objects = page.and_then(|page| page[key].as_array().cloned());
                let Some(objects) = objects else { return false };
                for object in objects {
                    let Some(ip) = address_in(&object) else { return false };
                    if ip.is_ipv4() != (family == Family::V4) {
                        return false;
                    }
                    shown.entry(ip).or_default().push(object);
                }
            }
        }
        let said: BTreeSet<_> = all.iter().map(|address| address.ip).collect();
        let known = |address: &Address| shown[&address.ip].iter().any(|object| is(object, address));
        said.len() == all.len() && shown.keys().eq(&said) && all.iter().all(known)
    }

    /// Objects in the answers to reads of `ip`.
    fn shown(&self, ip: IpAddr) -> impl Iterator<Item = Value> {
        let path = member(ip);
        let read = self.log.iter().filter(move |(request, _)| {
            *request.method() == Method::GET && request.uri().path() == path
        });
        let answers = read.filter_map(|(_, answer)| answer.as_ref());
        answers.filter(|answer| answer.is_success()).flat_map(Answer::objects)
    }

    /// Whether DigitalOcean itself answered `not_found`.
    fn is_gone(&self, ip: IpAddr) -> bool {
        let path = member(ip);
        let about = self.log.iter().filter(|(request, _)| request.uri().path() == path);
        let mut answers = about.filter_map(|(_, answer)| answer.as_ref());
        answers.any(|answer| {
            answer.status == 404 && answer.value().is_some_and(|body| body["id"] == "not_found")
        })
    }

    /// Whether a read showed the address on `machine` and unlocked.
    fn is_at(&self, ip: IpAddr, machine: Option<&MachineId>) -> bool {
        self.shown(ip).any(|object| {
            let at_rest = object["locked"] != true;
            address_in(&object) == Some(ip) && at_rest && holder_in(&object).as_ref() == machine
        })
    }

    /// Whether the answer to the change contained the action.
    fn took(&self, accepted: &Accepted) -> bool {
        let answers = self.answers(&Method::POST).filter(|answer| answer.is_success());
        let mut actions = answers.filter_map(Answer::action);
        actions.any(|(id, status)| match accepted {
            Accepted::Done => status == "completed",
            Accepted::Pending(operation) => operation.0 == id.to_string() && status != "errored",
        })
    }

    fn created(&self, request: &CreateRequest, created: &Created) -> bool {
        let answers = self.answers(&Method::POST).filter(|answer| answer.is_success());
        let fits = created.ip.is_ipv4() == (request.family == Family::V4);
        let mut made = answers.flat_map(|answer| {
            let objects = answer.objects().into_iter();
            objects.map(|object| (object, answer.value().unwrap_or_default()))
        });
        fits && made.any(|(object, body)| {
            let placed = match &created.placement {
                None => true,
                Some(Accepted::Done) => {
                    request.machine.is_some() && holder_in(&object) == request.machine
                }
                Some(Accepted::Pending(id)) => {
                    let action = body["links"]["actions"][0]["id"].as_u64();
                    action.is_some_and(|action| action.to_string() == id.0)
                }
            };
            address_in(&object) == Some(created.ip) && placed
        })
    }

    fn operation(&self, id: &str, state: &OperationState) -> bool {
        let answers = self.answers(&Method::GET).filter(|answer| answer.is_success());
        let about = |(one, _): &(u64, String)| one.to_string() == id;
        let words: Vec<_> = answers.filter_map(Answer::action).filter(about).collect();
        let said = |word: &str| words.iter().any(|(_, status)| status == word);
        match state {
            OperationState::Running => said("in-progress"),
            OperationState::Done => said("completed"),
            OperationState::Failed => said("errored"),
            OperationState::Unheard => true,
        }
    }
}

impl Answer {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body, if an object.
    fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok().filter(Value::is_object)
    }

    /// Whether the body is well formed, and too deep or too large for `Value`.
    fn is_deep(&self) -> bool {
        let whole = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&self.body).is_ok();
        whole && self.value().is_none()
    }

    /// The address in the body, under any of the three possible keys.
    fn objects(&self) -> Vec<Value> {
        let Some(body) = self.value() else { return vec![] };
        vec![body["reserved_ip"].clone(), body["reserved_ipv6"].clone(), body]
    }

    fn action(&self) -> Option<(u64, String)> {
        let body = self.value()?;
        // serde also reads an action given as a list of field values.
        let (id, status) = match &body["action"] {
            Value::Array(action) => (action.first()?.clone(), action.get(1)?.clone()),
            action => (action["id"].clone(), action["status"].clone()),
        };
        Some((id.as_u64()?, status.as_str()?.to_owned()))
    }
}

fn member(ip: IpAddr) -> String {
    if ip.is_ipv4() { format!("/v2/reserved_ips/{ip}") } else { format!("/v2/reserved_ipv6/{ip}") }
}

fn is_done(accepted: &Accepted) -> bool {
    *accepted == Accepted::Done
}

fn is(object: &Value, address: &Address) -> bool {
    address_in(object) == Some(address.ip) && holder_in(object) == address.holder
}

fn address_in(object: &Value) -> Option<IpAddr> {
    object["ip"].as_str()?.parse().ok()
}

fn holder_in(object: &Value) -> Option<MachineId> {
    object["droplet"]["id"].as_u64().map(|id| MachineId(id.to_string()))
}
