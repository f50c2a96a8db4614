//! The contract over the emulator, and answers that no emulator should have to give.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::contract::{self, Fixture};
use crate::script::{Script, with_variables};
use crate::transport::TransportError;
use crate::vendor::ConfigError;

contract::suite!(Fixture {
    vendor: &VENDOR,
    variables: &[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN)],
    secret: TOKEN,
    region: "nyc3",
});

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

/// Opens the account that a script plays.
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
        open_with(&variables, self.transport()).unwrap()
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

mod settings {
    use super::*;

    fn problem_with(variables: &[(&str, &str)]) -> ConfigError {
        open_with(variables, Script::default().transport()).unwrap_err()
    }

    #[test]
    fn without_a_token_the_variable_is_named() {
        for variables in [&[][..], &[("DIGITALOCEAN_ACCESS_TOKEN", " \n")]] {
            let error = problem_with(variables);
            assert_eq!(error.to_string(), "DIGITALOCEAN_ACCESS_TOKEN is not set");
        }
    }

    #[test]
    fn an_unusable_token_is_named_and_never_shown() {
        for token in ["canary\u{7}key", "canary key", "canary\nkey", "canärykey"] {
            let error = problem_with(&[("DIGITALOCEAN_ACCESS_TOKEN", token)]);
            let ConfigError::Unusable { variable, .. } = &error else { panic!("{error:?}") };
            assert_eq!(*variable, "DIGITALOCEAN_ACCESS_TOKEN");
            assert!(!format!("{error} {error:?}").contains("can"), "{error:?}");
        }
    }

    #[test]
    fn an_unusable_url_is_named_and_never_shown() {
        let unusable = [
            "canary",
            "/canary",
            "canary.example.com",
            "https://canary:secret@example.com",
            "https://example.com/?canary=1",
            "ftp://canary.example.com",
            "http://canary.example.com",
            "https://exa mple.com/canary",
            "https://",
        ];
        for url in unusable {
            let error = problem_with(&[
                ("DIGITALOCEAN_ACCESS_TOKEN", TOKEN),
                ("DIGITALOCEAN_API_URL", url),
            ]);
            assert!(error.to_string().starts_with("DIGITALOCEAN_API_URL "), "{url}: {error}");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }

    #[test]
    fn an_unusable_user_agent_or_project_is_named() {
        for name in ["DIGITALOCEAN_USER_AGENT", "DIGITALOCEAN_PROJECT_ID"] {
            let error = problem_with(&[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN), (name, "a\u{1}b")]);
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }

    #[tokio::test]
    async fn values_are_trimmed_and_reach_the_request() {
        let script = Script::default().then(404, not_found());
        let variables = [
            ("DIGITALOCEAN_ACCESS_TOKEN", "  dop_v1_x\n"),
            ("DIGITALOCEAN_API_URL", " http://127.0.0.1:8080/api/ "),
            ("DIGITALOCEAN_USER_AGENT", " mine/1 "),
        ];
        open_with(&variables, script.transport()).unwrap().read(ip()).await.unwrap();
        let requests = script.requests.lock().unwrap();
        assert_eq!(
            requests[0].uri().to_string(),
            "http://127.0.0.1:8080/api/v2/reserved_ips/45.55.96.47"
        );
        assert_eq!(requests[0].headers()["authorization"], "Bearer dop_v1_x");
        assert_eq!(requests[0].headers()["user-agent"], "mine/1");
    }

    #[tokio::test]
    async fn the_defaults_are_the_vendors_endpoint_and_our_name() {
        let script = Script::default().then(404, not_found());
        script.open().read(ip()).await.unwrap();
        let requests = script.requests.lock().unwrap();
        assert_eq!(requests[0].uri().host(), Some("api.digitalocean.com"));
        assert_eq!(requests[0].uri().scheme_str(), Some("https"));
        let name = format!("pontoon/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(requests[0].headers()["user-agent"], name.as_str());
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for url in ["http://localhost:1", "http://127.0.0.2:1/", "http://[::1]:1"] {
            let variables = [("DIGITALOCEAN_ACCESS_TOKEN", TOKEN), ("DIGITALOCEAN_API_URL", url)];
            open_with(&variables, Script::default().transport()).unwrap();
        }
    }
}

mod secrets {
    use super::*;

    #[tokio::test]
    async fn no_formatting_shows_the_token() {
        let script = Script::default().then(404, not_found());
        let provider = script.open();
        provider.read(ip()).await.unwrap();
        let requests = script.requests.lock().unwrap();
        assert_eq!(requests[0].headers()["authorization"], format!("Bearer {TOKEN}").as_str());
        assert!(!format!("{provider:?} {:?}", requests[0]).contains("canary"));
    }

    #[tokio::test]
    async fn a_server_that_echoes_the_token_does_not_get_it_shown() {
        let script = Script::default().then(401, problem("unauthorized", &format!("bad {TOKEN}!")));
        let error = script.open().read(ip()).await.unwrap_err();
        assert_eq!((error.kind, &error.message[..]), (ErrorKind::Unauthorized, "bad [token]!"));
        let pieces = format!("bad {}\u{7}{}", &TOKEN[..9], &TOKEN[9..]);
        let script = Script::default().then(401, problem("unauthorized", &pieces));
        assert_eq!(script.open().read(ip()).await.unwrap_err().message, "bad [token]");
    }
}

mod machines {
    use super::*;

    #[test]
    fn only_droplet_numbers_are_machines() {
        assert_eq!(machine("digitalocean://3164444"), Some(droplet(3_164_444)));
        assert_eq!(machine("digitalocean://007"), Some(droplet(7)));
        let strangers = [
            "digitalocean://",
            "digitalocean:///3164444",
            "digitalocean://3164444/",
            "digitalocean://+1",
            "digitalocean://abc",
            "digitalocean://99999999999999999999999",
            "DIGITALOCEAN://1",
            "3164444",
            "hcloud://3164444",
            "",
        ];
        for stranger in strangers {
            assert_eq!(machine(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn a_machine_names_its_provider_id_again() {
        assert_eq!(provider_id(&machine("digitalocean://42").unwrap()), "digitalocean://42");
    }
}

mod listing {
    use super::*;

    fn page(ips: impl IntoIterator<Item = u8>, more: bool) -> Value {
        let object = |n: u8| json!({ "ip": format!("10.0.0.{n}"), "droplet": null });
        let ips: Vec<_> = ips.into_iter().map(object).collect();
        let next = "https://evil.example.com/v2/reserved_ips?page=2";
        let pages = if more { json!({ "next": next, "last": next }) } else { json!({}) };
        json!({ "reserved_ips": ips, "links": { "pages": pages }, "meta": { "total": 3 } })
    }

    const V4: Families = Families { v4: true, v6: false };

    #[tokio::test]
    async fn pages_are_followed_by_number_and_never_to_another_host() {
        let script = Script::default().then(200, page([2, 3], true)).then(200, page([1], false));
        let found = script.open().list(V4).await.unwrap();
        let ips: Vec<_> = found.iter().map(|address| address.ip.to_string()).collect();
        assert_eq!(ips, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        assert_eq!(
            script.sent(),
            [
                "GET /v2/reserved_ips?page=1&per_page=200",
                "GET /v2/reserved_ips?page=2&per_page=200"
            ]
        );
        let requests = script.requests.lock().unwrap();
        assert_eq!(requests[1].uri().host(), Some("api.digitalocean.com"));
    }

    #[tokio::test]
    async fn an_address_on_two_pages_is_listed_once() {
        let script = Script::default().then(200, page([1, 2], true)).then(200, page([2, 3], false));
        assert_eq!(script.open().list(V4).await.unwrap().len(), 3);
    }

    #[tokio::test]
    async fn a_page_that_repeats_ends_the_listing_with_an_error() {
        let script = Script::default().then(200, page([1, 2], true)).then(200, page([1, 2], true));
        let error = script.open().list(V4).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
        assert!(error.message.contains("repeats"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_listing_without_end_is_given_up() {
        let calls = Arc::new(Mutex::new(0_u32));
        let counted = calls.clone();
        let transport = Transport::new(service_fn(move |_: Request<Bytes>| {
            let counted = counted.clone();
            async move {
                // Slow enough for the budget of a minute.
                tokio::time::sleep(Duration::from_secs(1)).await;
                let mut calls = counted.lock().unwrap();
                *calls += 1;
                let ip = std::net::Ipv4Addr::from(*calls);
                let page = json!({ "reserved_ips": [{ "ip": ip, "droplet": null }],
                                   "links": { "pages": { "next": "more" } } });
                Ok(Response::new(page.to_string().into()))
            }
        }));
        let provider = open_with(&[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN)], transport).unwrap();
        let error = provider.list(V4).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
        assert_eq!(*calls.lock().unwrap() as usize, MOST_PAGES);
    }

    #[tokio::test]
    async fn every_field_is_read_and_none_but_address_and_droplet_is_needed() {
        let listing = json!({ "reserved_ips": [
            { "ip": "10.0.0.1", "droplet": { "id": 5, "name": "a" }, "locked": true,
              "region": { "slug": "nyc3", "name": "New York 3" }, "project_id": "p" },
            { "ip": "10.0.0.2", "droplet": null, "region": null, "project_id": "", "new": [1] },
        ]});
        let script = Script::default().then(200, listing);
        let found = script.open().list(V4).await.unwrap();
        let first = Address {
            ip: "10.0.0.1".parse().unwrap(),
            holder: Some(droplet(5)),
            region: Some("nyc3".into()),
            project: Some("p".into()),
            busy: true,
        };
        let second = Address {
            ip: "10.0.0.2".parse().unwrap(),
            holder: None,
            region: None,
            project: None,
            busy: false,
        };
        assert_eq!(found, [first, second]);
    }
}

mod withheld_droplets {
    use super::*;

    fn assert_names_the_scope(error: &Error) {
        assert_eq!(error.kind, ErrorKind::Forbidden);
        assert!(error.message.contains("droplet:read"), "{error}");
    }

    #[tokio::test]
    async fn an_ipv4_address_without_the_key_is_not_a_free_one() {
        let listing = json!({ "reserved_ips": [{ "ip": IP }] });
        let script = Script::default()
            .then(200, listing)
            .then(200, json!({ "reserved_ip": { "ip": IP, "locked": false } }));
        let provider = script.open();
        let families = Families { v4: true, v6: false };
        assert_names_the_scope(&provider.list(families).await.unwrap_err());
        assert_names_the_scope(&provider.read(ip()).await.unwrap_err());
    }

    fn free_v6() -> Value {
        json!({ "reserved_ipv6": { "ip": IP6, "region_slug": "nyc3" } })
    }

    #[tokio::test]
    async fn an_ipv6_address_without_the_key_is_free_if_the_token_sees_droplets_which_is_asked_once()
     {
        let script = Script::default()
            .then(200, free_v6())
            .then(200, json!({ "droplets": [] }))
            .then(200, free_v6());
        let provider = script.open();
        for _ in 0..2 {
            assert_eq!(provider.read(ip6()).await.unwrap().unwrap().holder, None);
        }
        let read = format!("GET /v2/reserved_ipv6/{IP6}");
        assert_eq!(script.sent(), [&read, "GET /v2/droplets?per_page=1", &read]);
    }

    #[tokio::test]
    async fn an_ipv6_address_without_the_key_is_not_free_if_the_token_does_not() {
        let script = Script::default()
            .then(200, free_v6())
            .then(403, problem("forbidden", "You are not authorized"));
        assert_names_the_scope(&script.open().read(ip6()).await.unwrap_err());
    }
}

mod changes {
    use super::*;

    async fn assign(script: &Script) -> Result<Accepted> {
        script.open().assign(ip(), &droplet(7)).await
    }

    #[tokio::test]
    async fn each_request_is_exactly_what_the_vendor_documents() {
        let script = Script::default()
            .then(201, action("in-progress"))
            .then(201, action("in-progress"))
            .then(201, action("in-progress"))
            .then(204, "")
            .then(204, "");
        let provider = script.open();
        provider.assign(ip(), &droplet(7)).await.unwrap();
        provider.assign(ip6(), &droplet(7)).await.unwrap();
        provider.unassign(ip()).await.unwrap();
        provider.release(ip()).await.unwrap();
        provider.release(ip6()).await.unwrap();
        let expected = [
            format!(r#"POST /v2/reserved_ips/{IP}/actions {{"droplet_id":7,"type":"assign"}}"#),
            format!(r#"POST /v2/reserved_ipv6/{IP6}/actions {{"droplet_id":7,"type":"assign"}}"#),
            format!(r#"POST /v2/reserved_ips/{IP}/actions {{"type":"unassign"}}"#),
            format!("DELETE /v2/reserved_ips/{IP}"),
            format!("DELETE /v2/reserved_ipv6/{IP6}"),
        ];
        assert_eq!(script.sent(), expected);
        let requests = script.requests.lock().unwrap();
        assert_eq!(requests[0].headers()["content-type"], "application/json");
        assert!(!requests[3].headers().contains_key("content-type"));
        let priorities: Vec<_> = requests
            .iter()
            .map(|request| *request.extensions().get::<Priority>().unwrap())
            .collect();
        let (failover, housekeeping) = (Priority::Failover, Priority::Housekeeping);
        assert_eq!(priorities, [failover, failover, failover, housekeeping, housekeeping]);
    }

    #[tokio::test]
    async fn an_accepted_action_is_pending_until_it_is_completed() {
        let id = OperationId("72531856".into());
        for (status, expected) in [
            ("completed", Accepted::Done),
            ("in-progress", Accepted::Pending(id.clone())),
            ("a new word", Accepted::Pending(id)),
        ] {
            let script = Script::default().then(201, action(status));
            assert_eq!(assign(&script).await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn an_action_that_failed_at_once_is_rejected_with_where_the_address_is() {
        let script =
            Script::default().then(201, action("errored")).then(200, v4(json!({ "id": 3 }), false));
        let error = assign(&script).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert_eq!(error.seen.unwrap().holder, Some(droplet(3)));
    }

    #[tokio::test]
    async fn a_refusal_of_what_is_so_already_is_success() {
        let script = Script::default()
            .then(422, unprocessable("droplet already has a reserved IP"))
            .then(200, v4(json!({ "id": 7 }), false));
        assert_eq!(assign(&script).await.unwrap(), Accepted::Done);
        let script = Script::default()
            .then(422, unprocessable("not assigned"))
            .then(200, v4(Value::Null, false));
        assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
        let requests = script.requests.lock().unwrap();
        assert_eq!(requests[1].extensions().get(), Some(&Priority::Failover));
    }

    #[tokio::test]
    async fn an_address_on_its_target_is_not_done_while_the_vendor_works_on_it() {
        let script = Script::default()
            .then(422, unprocessable("refused"))
            .then(200, v4(json!({ "id": 7 }), true));
        assert_eq!(assign(&script).await.unwrap_err().kind, ErrorKind::Busy);
    }

    #[tokio::test]
    async fn a_pending_event_is_busy() {
        let words = "Droplet already has a pending event.";
        let script =
            Script::default().then(422, unprocessable(words)).then(200, v4(Value::Null, false));
        let error = assign(&script).await.unwrap_err();
        assert_eq!((error.kind, &error.message[..]), (ErrorKind::Busy, words));
        assert_eq!(error.seen.unwrap().holder, None);
    }

    #[tokio::test]
    async fn an_ipv6_address_with_a_pending_event_is_busy_even_on_its_target() {
        let seen = json!({ "reserved_ipv6": { "ip": IP6, "droplet": { "id": 7 } } });
        let script = Script::default()
            .then(422, unprocessable("The reserved IPv6 already has a pending event."))
            .then(200, seen);
        let error = script.open().assign(ip6(), &droplet(7)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy);
    }

    #[tokio::test]
    async fn a_missing_machine_and_a_missing_address_are_told_apart() {
        let script = Script::default().then(404, not_found()).then(200, v4(Value::Null, false));
        let error = assign(&script).await.unwrap_err();
        assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::NotFound, true));
        let script = Script::default().then(404, not_found()).then(404, not_found());
        let error = assign(&script).await.unwrap_err();
        assert_eq!((error.kind, error.seen), (ErrorKind::NotFound, None));
    }

    #[tokio::test]
    async fn a_refusal_that_cannot_be_checked_is_not_final() {
        let limited = Response::builder().status(429).header("retry-after", "9");
        let limited = limited.body(Bytes::new()).unwrap();
        let nine = Duration::from_secs(9);
        let lost = || TransportError::NoAnswer("reset".into());
        let pending = unprocessable("already has a pending event");
        let refused = || Script::default().then(422, unprocessable("no"));
        for (script, kind) in [
            (refused().then_error(lost()), ErrorKind::Unavailable),
            (refused().then(500, ""), ErrorKind::Unavailable),
            (refused().then(403, ""), ErrorKind::Forbidden),
            (refused().then_answer(limited), ErrorKind::RateLimited { retry_after: nine }),
            (Script::default().then(422, pending).then_error(lost()), ErrorKind::Busy),
        ] {
            assert_eq!(assign(&script).await.unwrap_err().kind, kind);
        }
    }

    #[tokio::test]
    async fn a_release_that_is_refused_is_told_with_the_address_or_is_over_if_it_is_gone() {
        let refused = || Script::default().then(422, unprocessable("in use"));
        let script = refused().then(200, v4(json!({ "id": 7 }), false));
        let error = script.open().release(ip()).await.unwrap_err();
        assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::Rejected, true));
        let script = refused().then(200, v4(Value::Null, true));
        assert_eq!(script.open().release(ip()).await.unwrap_err().kind, ErrorKind::Busy);
        let script = refused().then(404, not_found());
        script.open().release(ip()).await.unwrap();
    }

    #[tokio::test]
    async fn a_machine_that_is_no_droplet_is_rejected_without_a_request() {
        let script = Script::default();
        let error = script.open().assign(ip(), &MachineId("i-0abc".into())).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(script.sent().is_empty());
    }
}

mod creation {
    use super::*;

    async fn create(
        script: &Script,
        family: Family,
        machine: Option<u64>,
        more: &[(&str, &str)],
    ) -> Result<Created> {
        let machine = machine.map(droplet);
        let request = CreateRequest { family, region: "nyc3".into(), machine };
        script.open_with(more).create(&request).await
    }

    fn assigning() -> Value {
        let mut body = v4(Value::Null, true);
        body["links"] = json!({
            "droplets": [{ "id": 7, "rel": "droplet", "href": "" }],
            "actions": [{ "id": 1088924622, "rel": "assign_ip", "href": "" }],
        });
        body
    }

    #[tokio::test]
    async fn on_a_machine_the_request_names_the_machine_alone() {
        let script = Script::default().then(202, assigning());
        let project = [("DIGITALOCEAN_PROJECT_ID", "p-1")];
        let created = create(&script, Family::V4, Some(7), &project).await.unwrap();
        let pending = Accepted::Pending(OperationId("1088924622".into()));
        assert_eq!(created, Created { ip: ip(), placement: Some(pending) });
        assert_eq!(script.sent(), [r#"POST /v2/reserved_ips {"droplet_id":7}"#]);
    }

    #[tokio::test]
    async fn an_address_that_is_shown_on_its_machine_is_placed() {
        let script = Script::default().then(202, v4(json!({ "id": 7 }), false));
        let created = create(&script, Family::V4, Some(7), &[]).await.unwrap();
        assert_eq!(created.placement, Some(Accepted::Done));
    }

    #[tokio::test]
    async fn in_a_region_the_request_names_the_region_and_the_project() {
        let project = [("DIGITALOCEAN_PROJECT_ID", " p-1 ")];
        for (more, body) in [
            (&[][..], r#"{"region":"nyc3"}"#),
            (&project[..], r#"{"project_id":"p-1","region":"nyc3"}"#),
        ] {
            let script = Script::default().then(202, v4(Value::Null, false));
            let created = create(&script, Family::V4, None, more).await.unwrap();
            assert_eq!(created, Created { ip: ip(), placement: None });
            assert_eq!(script.sent(), [format!("POST /v2/reserved_ips {body}")]);
        }
    }

    #[tokio::test]
    async fn ipv6_is_reserved_in_the_region_and_left_free_in_both_shapes_of_answer() {
        let bare =
            json!({ "ip": IP6, "region_slug": "nyc3", "reserved_at": "2024-11-29T15:31:30Z" });
        for body in [json!({ "reserved_ipv6": bare.clone() }), bare] {
            let script = Script::default().then(201, body);
            let project = [("DIGITALOCEAN_PROJECT_ID", "p-1")];
            let created = create(&script, Family::V6, Some(7), &project).await.unwrap();
            assert_eq!(created, Created { ip: ip6(), placement: None });
            assert_eq!(script.sent(), [r#"POST /v2/reserved_ipv6 {"region_slug":"nyc3"}"#]);
        }
    }

    #[tokio::test]
    async fn an_address_is_reported_even_if_the_token_may_not_see_its_droplet() {
        let script = Script::default().then(202, json!({ "reserved_ip": { "ip": IP } }));
        assert_eq!(create(&script, Family::V4, Some(7), &[]).await.unwrap().ip, ip());
    }

    #[tokio::test]
    async fn a_refusal_is_about_the_quota_if_its_words_are() {
        for (words, kind) in [
            ("You have reached your reserved IP limit.", ErrorKind::QuotaExceeded),
            ("quota exceeded", ErrorKind::QuotaExceeded),
            ("Droplet already has a reserved IP.", ErrorKind::Rejected),
            ("Droplet already has a pending event.", ErrorKind::Busy),
        ] {
            let script = Script::default().then(422, unprocessable(words));
            let error = create(&script, Family::V4, Some(7), &[]).await.unwrap_err();
            assert_eq!((error.kind, &error.message[..]), (kind, words));
        }
    }
}

mod operations {
    use super::*;

    #[tokio::test]
    async fn each_family_is_asked_about_where_the_vendor_keeps_its_actions() {
        let script = Script::default()
            .then(200, action("in-progress"))
            .then(200, action("completed"))
            .then(200, action("errored"))
            .then(200, action("a new word"))
            .then(404, not_found());
        let provider = script.open();
        let id = OperationId("72531856".into());
        for (ip, state) in [
            (ip(), OperationState::Running),
            (ip6(), OperationState::Done),
            (ip(), OperationState::Failed),
            (ip(), OperationState::Unheard),
            (ip(), OperationState::Unheard),
        ] {
            assert_eq!(provider.operation(ip, &id).await.unwrap(), state);
        }
        let sent = script.sent();
        assert_eq!(sent[0], format!("GET /v2/reserved_ips/{IP}/actions/72531856"));
        assert_eq!(sent[1], "GET /v2/actions/72531856");
    }

    #[tokio::test]
    async fn an_operation_that_is_no_number_is_unheard_of_without_a_request() {
        let script = Script::default();
        let id = OperationId("../droplets".into());
        let state = script.open().operation(ip(), &id).await.unwrap();
        assert_eq!(state, OperationState::Unheard);
    }
}

mod refusals {
    use super::*;

    async fn read_kind(status: u16, body: impl ToString) -> ErrorKind {
        Script::default().then(status, body).open().read(ip()).await.unwrap_err().kind
    }

    #[tokio::test]
    async fn every_status_has_its_kind() {
        let minute = Duration::from_secs(60);
        for (status, kind) in [
            (301, ErrorKind::Rejected),
            (400, ErrorKind::Rejected),
            (401, ErrorKind::Unauthorized),
            (403, ErrorKind::Forbidden),
            (405, ErrorKind::Rejected),
            (408, ErrorKind::NoAnswer),
            (409, ErrorKind::Busy),
            (422, ErrorKind::Rejected),
            (423, ErrorKind::Busy),
            (429, ErrorKind::RateLimited { retry_after: minute }),
            (500, ErrorKind::Unavailable),
            (501, ErrorKind::NoAnswer),
            (502, ErrorKind::NoAnswer),
            (503, ErrorKind::Unavailable),
            (504, ErrorKind::NoAnswer),
            (520, ErrorKind::NoAnswer),
            (524, ErrorKind::NoAnswer),
        ] {
            assert_eq!(read_kind(status, problem("x", "y")).await, kind, "{status}");
            assert_eq!(read_kind(status, "<html>").await, kind, "{status}");
        }
    }

    #[tokio::test]
    async fn only_the_vendors_own_not_found_proves_that_an_address_is_gone() {
        let script = Script::default().then(404, not_found());
        assert_eq!(script.open().read(ip()).await.unwrap(), None);
        let path = json!({ "error": "The path you're trying to reach does not exist" });
        for body in [path.to_string(), "<html>404</html>".into(), String::new()] {
            assert_eq!(read_kind(404, &body).await, ErrorKind::NoAnswer);
            let script = Script::default().then(404, &body);
            let error = script.open().release(ip()).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer);
        }
    }

    #[tokio::test]
    async fn the_vendors_words_are_shown_on_one_line_and_not_endlessly() {
        let words = format!("a\u{1b}[31m\nb\r{}", "é".repeat(500));
        let script = Script::default().then(400, problem("bad_request", &words));
        let error = script.open().read(ip()).await.unwrap_err();
        assert!(error.message.starts_with("a[31mbé"), "{error}");
        assert_eq!(error.message.chars().count(), 200);
        assert!(error.message.ends_with('…'));
    }

    #[tokio::test]
    async fn without_words_the_status_is_shown() {
        for body in ["<html>", "", "{}", r#"{"message":"\n"}"#, r#"{"message":7}"#] {
            let error = Script::default().then(503, body).open().read(ip()).await.unwrap_err();
            assert_eq!(error.message, "DigitalOcean answered 503 Service Unavailable");
        }
    }
}

mod odd_answers {
    use super::*;

    const ODD: [&str; 17] = [
        "",
        "null",
        "[]",
        "[[],[],null]",
        "{}",
        "7",
        "\"text\"",
        "{",
        "\u{0}",
        r#"{"reserved_ip":null,"reserved_ips":null,"action":null}"#,
        r#"{"reserved_ip":{},"reserved_ips":[{}],"action":{}}"#,
        r#"{"reserved_ip":{"ip":7},"reserved_ips":[7],"action":{"id":"x","status":1}}"#,
        r#"{"reserved_ip":{"ip":"1.2.3"},"reserved_ips":[{"ip":"1.2.3"}],"action":{"id":-1}}"#,
        r#"{"reserved_ip":{"ip":"45.55.96.47","droplet":{}},
            "reserved_ips":[{"ip":"45.55.96.47","droplet":{}}]}"#,
        r#"{"reserved_ip":{"ip":"45.55.96.47","droplet":{"id":"7"}},
            "reserved_ips":[{"ip":"45.55.96.47","droplet":7}]}"#,
        r#"{"reserved_ips":{"ip":"45.55.96.47"},"action":[]}"#,
        r#"{"reserved_ips":[],"links":{"pages":{"next":7}},"action":{"id":1e300,"status":""}}"#,
    ];

    #[tokio::test]
    async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
        let families = Families { v4: true, v6: false };
        let request = CreateRequest { family: Family::V4, region: "nyc3".into(), machine: None };
        for odd in ODD {
            let open = || Script::default().then(200, odd).open();
            let id = OperationId("1".into());
            let kinds = [
                open().list(families).await.map(drop).unwrap_err().kind,
                open().read(ip()).await.map(drop).unwrap_err().kind,
                open().assign(ip(), &droplet(7)).await.map(drop).unwrap_err().kind,
                open().unassign(ip()).await.map(drop).unwrap_err().kind,
                open().create(&request).await.map(drop).unwrap_err().kind,
                open().operation(ip(), &id).await.map(drop).unwrap_err().kind,
            ];
            assert_eq!(kinds, [ErrorKind::NoAnswer; 6], "{odd}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_quoted() {
        let script = Script::default().then(200, r#"{"reserved_ip":"canary"}"#);
        let error = script.open().read(ip()).await.unwrap_err();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }

    #[tokio::test]
    async fn an_answer_about_another_address_is_no_answer() {
        let other = json!({ "reserved_ip": { "ip": "10.0.0.1", "droplet": null } });
        let error = Script::default().then(200, other).open().read(ip()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
    }

    #[tokio::test]
    async fn an_answer_about_another_action_is_no_answer() {
        let script = Script::default().then(200, action("completed"));
        let id = OperationId("1".into());
        let error = script.open().operation(ip(), &id).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
    }

    #[tokio::test]
    async fn an_address_of_the_other_family_is_no_answer() {
        let held = json!({ "ip": IP6, "droplet": { "id": 7 } });
        let script = Script::default().then(200, json!({ "reserved_ips": [held] }));
        let error = script.open().list(Families { v4: true, v6: false }).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
        let script = Script::default().then(202, json!({ "reserved_ip": held }));
        let request = CreateRequest { family: Family::V4, region: "nyc3".into(), machine: None };
        assert_eq!(script.open().create(&request).await.unwrap_err().kind, ErrorKind::NoAnswer);
    }

    #[tokio::test]
    async fn an_address_is_not_gone_because_droplets_are_not_found() {
        let free = json!({ "reserved_ipv6": { "ip": IP6 } });
        let script = Script::default().then(200, free).then(404, not_found());
        assert_eq!(script.open().read(ip6()).await.unwrap_err().kind, ErrorKind::NoAnswer);
    }
}

/// The vendor's own examples, from its specification, where it is at hand.
mod examples {
    use super::*;

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn spec() -> Option<Value> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/digitalocean.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: {path} is not here");
            return None;
        };
        Some(serde_json::from_str(&text).unwrap())
    }

    fn example(spec: &Value, name: &str) -> Value {
        spec["components"]["examples"][name]["value"].clone()
    }

    fn of_response(spec: &Value, name: &str) -> Value {
        let schema =
            &spec["components"]["responses"][name]["content"]["application/json"]["schema"];
        schema["example"].clone()
    }

    #[tokio::test]
    async fn every_example_of_an_answer_is_understood() {
        let Some(spec) = spec() else { return };
        let script = Script::default()
            .then(200, of_response(&spec, "reserved_ip_list"))
            .then(200, of_response(&spec, "reserved_ipv6_list"))
            .then(200, json!({ "droplets": [] }))
            .then(200, example(&spec, "reserved_ip_assigned"))
            .then(200, example(&spec, "reserved_ip_reserved"))
            .then(201, of_response(&spec, "reserved_ip_action"))
            .then(201, of_response(&spec, "reserved_ipv6_action"))
            .then(202, example(&spec, "reserved_ip_assigning"))
            .then(202, example(&spec, "reserved_ip_reserving"))
            .then(201, example(&spec, "reserved_ipv6_reserved"));
        let provider = script.open();
        let found = provider.list(Families { v4: true, v6: true }).await.unwrap();
        assert_eq!(found.len(), 3);
        let held = provider.read(ip()).await.unwrap().unwrap();
        assert_eq!(held.holder, Some(droplet(3_164_444)));
        assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, None);
        for ip in [ip(), ip6()] {
            assert_eq!(provider.assign(ip, &droplet(7)).await.unwrap(), Accepted::Done);
        }
        let mut request =
            CreateRequest { family: Family::V4, region: "nyc3".into(), machine: Some(droplet(7)) };
        let placed = provider.create(&request).await.unwrap().placement;
        assert_eq!(placed, Some(Accepted::Pending(OperationId("1088924622".into()))));
        request.machine = None;
        assert_eq!(provider.create(&request).await.unwrap().placement, None);
        request.family = Family::V6;
        assert!(provider.create(&request).await.unwrap().ip.is_ipv6());
    }
}
