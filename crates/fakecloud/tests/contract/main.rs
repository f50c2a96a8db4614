//! Checks the emulators, and their recorded clients, against the vendors' OpenAPI and discovery
//! documents.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

mod check;
#[path = "../client/mod.rs"]
mod client;
mod cloudflare;
mod digitalocean;
mod gcp;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use check::{Beyond, Contract, OperationId, Violation};
use fakecloud::{Exchange, FakeCloud, read_dump};

/// A vendor with its document.
struct Vendor {
    name: &'static str,
    /// Prefix of the vendor's paths.
    prefix: &'static str,
    document: LazyLock<Option<Contract>>,
    /// Operations of the document that the emulator lacks. Additions to the list are deliberate.
    not_emulated: &'static [&'static str],
    /// Whether the document describes 5xx answers.
    documents_5xx: bool,
}

static VENDORS: [Vendor; 3] = [
    Vendor {
        name: "digitalocean",
        prefix: "/v2/",
        document: LazyLock::new(|| document("digitalocean", &digitalocean::BEYOND)),
        not_emulated: &[],
        documents_5xx: true,
    },
    Vendor {
        name: "cloudflare",
        prefix: "/client/v4/",
        document: LazyLock::new(|| document("cloudflare", &Beyond::NOTHING)),
        not_emulated: &[],
        documents_5xx: false,
    },
    Vendor {
        name: "gcp",
        prefix: "/compute/v1/",
        document: LazyLock::new(|| document("gcp-compute", &Beyond::NOTHING)),
        not_emulated: &["compute.addresses.setLabels", "compute.instances.updateNetworkInterface"],
        documents_5xx: true,
    },
];

impl Vendor {
    fn of(exchange: &Exchange) -> Option<&'static Self> {
        VENDORS.iter().find(|vendor| exchange.target.starts_with(vendor.prefix))
    }

    /// Checks an answer; `None` if the document does not cover it.
    fn answer(
        &self,
        contract: &Contract,
        exchange: &Exchange,
    ) -> Result<Option<OperationId>, Violation> {
        if !self.documents_5xx && exchange.status().is_some_and(|status| status >= 500) {
            return Ok(None);
        }
        contract.check_response(exchange).map(Some)
    }

    async fn drive(&self, cloud: &FakeCloud) {
        match self.name {
            "cloudflare" => cloudflare::drive(cloud).await,
            "gcp" => gcp::drive(cloud).await,
            _ => digitalocean::drive(cloud).await,
        }
    }
}

/// A document, or `None` after a message if the file is absent; with `CI=true` a failure.
fn document(name: &str, beyond: &'static Beyond) -> Option<Contract> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = root.join(format!("shared/specs/{name}.json"));
    if path.exists() {
        return Some(Contract::load(&path, beyond).unwrap());
    }
    let missing = format!("no {}: the contract was NOT checked", path.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    say(&format!("SKIPPED: {missing}"));
    None
}

/// Writes past the test harness, which hides the output of passing tests.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether a request was refused. A refused request may violate the document: violations are a
/// reason to refuse.
fn refused(exchange: &Exchange) -> bool {
    matches!(exchange.status(), Some(400 | 404 | 422 | 501))
}

#[tokio::test(start_paused = true)]
async fn every_answer_of_the_emulators_is_as_documented_and_every_operation_is_driven() {
    for vendor in &VENDORS {
        let Some(contract) = vendor.document.as_ref() else { continue };
        let cloud = client::fresh();
        vendor.drive(&cloud).await;
        let mut exercised = Vec::new();
        let mut violations = Vec::new();
        for exchange in cloud.log() {
            match vendor.answer(contract, &exchange) {
                Ok(operation) => exercised.extend(operation),
                Err(violation) => violations.push(violation.to_string()),
            }
            if !refused(&exchange)
                && let Err(violation) = contract.check_request(&exchange)
            {
                violations.push(violation.to_string());
            }
        }
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        let never = contract.never_exercised(&exercised);
        let (name, count) = (vendor.name, cloud.log().len());
        say(&format!(
            "{count} exchanges with {name}'s emulator are as documented; operations never \
             driven: {never:?}"
        ));
        assert_eq!(never, vendor.not_emulated);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_document_forbids_is_never_accepted() {
    for vendor in &VENDORS {
        let Some(contract) = vendor.document.as_ref() else { continue };
        let cloud = client::fresh();
        vendor.drive(&cloud).await;
        let forbidden: Vec<Exchange> =
            cloud.log().into_iter().filter(|e| contract.check_request(e).is_err()).collect();
        assert!(forbidden.len() >= 8, "only {} bad requests were tried", forbidden.len());
        assert!(forbidden.iter().all(refused), "{}", vendor.name);
    }
}

#[test]
fn every_recorded_exchange_of_our_clients_is_as_documented() {
    let Some(folder) = std::env::var_os("PONTOON_EXCHANGES").filter(|f| !f.is_empty()) else {
        return;
    };
    let files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    let mut exercised: BTreeMap<&str, (usize, Vec<OperationId>)> = BTreeMap::new();
    let mut violations = Vec::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "jsonl")) {
        for exchange in read_dump(file).unwrap() {
            let Some(vendor) = Vendor::of(&exchange) else {
                violations.push(format!("{}: whose path is {}?", file.display(), exchange.target));
                continue;
            };
            let Some(contract) = vendor.document.as_ref() else { continue };
            let (count, operations) = exercised.entry(vendor.name).or_default();
            *count += 1;
            let judged =
                contract.check_request(&exchange).and_then(|_| vendor.answer(contract, &exchange));
            match judged {
                Ok(operation) => operations.extend(operation),
                Err(violation) => violations.push(format!("{}: {violation}", file.display())),
            }
        }
    }
    for (name, (count, operations)) in exercised {
        let contract = VENDORS.iter().find(|v| v.name == name).and_then(|v| v.document.as_ref());
        let never = contract.map(|contract| contract.never_exercised(&operations));
        let never = never.unwrap_or_default();
        say(&format!(
            "{count} recorded exchanges with {name} in {}; operations never exercised: {never:?}",
            folder.display()
        ));
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The vendor's genuine document of 2024 has no batch, describes failures as successes, and
/// requires a comment in records. Only the rest is checked.
#[tokio::test(start_paused = true)]
async fn cloudflare_s_older_document_agrees_where_it_can_judge() {
    let Some(contract) = document("cloudflare-2024-08", &Beyond::NOTHING) else { return };
    let cloud = client::fresh();
    cloudflare::drive(&cloud).await;
    let mut judged = cloud.log();
    judged.retain(|e| e.status() == Some(200) && !e.path().ends_with("/batch"));
    for exchange in &mut judged {
        let answer = exchange.answer.as_mut().unwrap();
        let body = String::from_utf8(answer.body.to_vec()).unwrap();
        answer.body = body.replace(r#""comment":null"#, r#""comment":"""#).into();
    }
    let against = judged.iter().filter_map(|exchange| contract.check_response(exchange).err());
    let violations: Vec<String> = against.map(|violation| violation.to_string()).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(judged.len() >= 20, "only {} answers were judged", judged.len());
}
