//! Requests, and with them credentials, reach the configured endpoint and no other host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use fakecloud::FakeCloud;
use http::{Request, Response, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tower::service_fn;

use crate::layers::Gate;
use crate::{
    Account, Clock, CreateRequest, Families, Family, ListRequest, MachineId, OperationId,
    RecordChange, RecordId, RecordKind, RecordName, Settings, Transport, VENDORS, Vendor,
    WantedRecord, https,
};

/// Texts that would lead elsewhere if they became a part of a URL as they are.
const HOSTILE: &[&str] = &[
    "http://evil.example/",
    "//evil.example/",
    "@evil.example/",
    "\\\\evil.example\\",
    "evil.example",
    "../../../evil",
    "a/../../evil",
    "%2e%2e/evil",
    "x?host=evil.example#",
    "x\r\nhost: evil.example",
    "p/us-central1-b/../../evil",
    "example.com@evil.example",
    "023e105f4ecef8ad9ca31a8372d0c353/../evil",
];

/// An answer that names other hosts wherever a vendor's answers have links.
const LEADS_AWAY: &str = r#"{"reserved_ips": [], "domain_records": [], "items": [], "result": [],
    "links": {"pages": {"next": "http://evil.example/v2/reserved_ips?page=2"}},
    "meta": {"total": 9}, "nextPageToken": "http://evil.example/", "success": true,
    "selfLink": "http://evil.example/", "result_info": {"page": 1, "total_pages": 2}}"#;

fn open(vendor: &Vendor, url: &str, transport: Transport) -> Account {
    let secret = vendor.credential.variables()[0];
    let variable = |name: &str| match name {
        _ if name == vendor.api_url => Some(url.to_owned()),
        _ if name == secret => Some("canary".to_owned()),
        _ => None,
    };
    let clock = Clock::new(|| SystemTime::UNIX_EPOCH);
    let settings = Settings { variable: &variable, timeout: Duration::from_secs(5), clock };
    (vendor.open)(&settings, transport).unwrap()
}

/// A machine of a vendor, if the vendor has machines.
fn machine(vendor: &Vendor) -> MachineId {
    let cloud = FakeCloud::new();
    cloud.machine(1, "a", "nyc3");
    let named = vendor.addresses.as_ref().map(|machines| machines.named);
    let found = named.and_then(|named| named(&cloud.provider_id(vendor.name, 1)));
    found.unwrap_or(MachineId("1".to_owned()))
}

/// Every call of an account, with a text of a user in every place. Answers do not matter.
async fn call_everything(account: &Account, machine: &MachineId, text: &str) {
    let ip = "192.0.2.1".parse().unwrap();
    if let Some(addresses) = &account.addresses {
        let families = Families { v4: true, v6: true };
        let list = ListRequest { families, machines: vec![machine.clone()], addresses: vec![ip] };
        let region = text.to_owned();
        let (machine, mark) = (Some(machine.clone()), Some(text.to_owned()));
        let create = CreateRequest { family: Family::V4, region, machine: machine.clone(), mark };
        let machine = machine.unwrap();
        drop(addresses.list(&list).await);
        drop(addresses.read(ip).await);
        drop(addresses.assign(ip, &machine).await);
        drop(addresses.unassign(ip).await);
        drop(addresses.create(&create).await);
        drop(addresses.release(ip).await);
        drop(addresses.operation(ip, &OperationId(text.to_owned())).await);
        drop(addresses.restore_egress(&machine).await);
    }
    if let Some(records) = &account.records {
        let located = [
            records.locate(text, text).await,
            records.locate("example.com", text).await,
            records.locate(text, "www").await,
            Ok(RecordName { zone: text.to_owned(), name: text.to_owned() }),
        ];
        let wanted = WantedRecord { value: ip, ttl: 60, mark: Some(text.to_owned()) };
        let delete = vec![RecordId(text.to_owned())];
        let change = RecordChange { create: vec![wanted], delete, ..RecordChange::default() };
        for name in located.into_iter().flatten() {
            drop(records.list(&name, RecordKind::A).await);
            drop(records.change(&name, RecordKind::A, &change).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_an_object_or_an_answer_says_requests_go_to_the_configured_host() {
    for vendor in VENDORS {
        let seen: Arc<Mutex<Vec<Uri>>> = Arc::default();
        let transport = Transport::new(service_fn({
            let seen = Arc::clone(&seen);
            move |request: Request<Bytes>| {
                seen.lock().unwrap().push(request.uri().clone());
                let answer = Response::new(Bytes::from_static(LEADS_AWAY.as_bytes()));
                async move { Ok(answer) }
            }
        }));
        for text in HOSTILE {
            for machine in [machine(vendor), MachineId((*text).to_owned())] {
                let account = open(vendor, "https://api.test/base", transport.clone());
                call_everything(&account, &machine, text).await;
            }
        }
        let seen = seen.lock().unwrap();
        assert!(!seen.is_empty(), "{} was never asked", vendor.name);
        for uri in seen.iter() {
            assert_eq!(uri.authority().map(|one| one.as_str()), Some("api.test"), "{uri}");
            let inside = uri.path().split('/').all(|part| part != "..");
            assert!(uri.path().starts_with("/base/") && inside, "{uri}");
        }
    }
}

/// A server that gives every request the same answer, and counts the requests.
async fn server(answer: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut buffer = vec![0; 4096];
            drop(stream.read(&mut buffer).await);
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (url, count)
}

#[tokio::test]
async fn no_provider_follows_a_redirect_with_its_token() {
    for vendor in VENDORS {
        let (elsewhere, followed) = server("HTTP/1.1 204 No Content\r\n\r\n".to_owned()).await;
        for status in [301, 302, 303, 307, 308] {
            let head =
                format!("HTTP/1.1 {status} Moved\r\nlocation: {elsewhere}/v2/reserved_ips\r\n");
            let (url, asked) =
                server(format!("{head}connection: close\r\ncontent-length: 0\r\n\r\n")).await;
            let account = open(vendor, &url, https(&Gate::open()));
            call_everything(&account, &machine(vendor), "www").await;
            assert!(asked.load(Ordering::SeqCst) > 0, "{} was never asked", vendor.name);
        }
        assert_eq!(followed.load(Ordering::SeqCst), 0, "{}", vendor.name);
    }
}
