//! Knobs, faults and the record, over the in-process service under a paused clock.

mod client;

use std::time::Duration;

use client::{get, ip, post, send};
use fakecloud::{
    Answer, CloudFault, FakeCloud, Fault, Loss, Lost, On, RateLimit, Recording, Rule, read_dump,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const A: &str = "198.51.100.101";
const ACTIONS: &str = "/v2/reserved_ips/198.51.100.101/actions";
const ONE_IP: &str = "/v2/reserved_ips/198.51.100.101";

fn cloud() -> FakeCloud {
    let cloud = client::fresh();
    cloud.machine(1, "one", "nyc3").machine(2, "two", "nyc3").reserve_on(ip(A), 1);
    cloud
}

fn to_two() -> Value {
    json!({"type": "assign", "droplet_id": 2})
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_does_not_undo_the_effect() {
    let cloud = cloud();
    cloud.set(|k| k.latency_before = ms(100));
    let gave_up = timeout(ms(50), send(&cloud, "POST", ACTIONS, to_two())).await;
    assert!(gave_up.is_err());
    assert_eq!(cloud.holder(ip(A)), Some(1));
    cloud.wait_for(|s| s.holder(ip(A)) == Some(2)).await;
    let exchange = cloud.wait_for_call(|e| e.lost.is_some()).await;
    assert_eq!(exchange.lost, Some(Loss::CallerGone));
    assert_eq!(exchange.status(), Some(201));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_polls_was_never_sent() {
    let cloud = cloud();
    drop(send(&cloud, "POST", ACTIONS, to_two()));
    tokio::task::yield_now().await;
    assert_eq!(cloud.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn latency_passes_before_and_after_the_effect() {
    let cloud = cloud();
    cloud.set(|k| (k.latency_before, k.latency_after) = (ms(30), ms(70)));
    let start = Instant::now();
    let caller = tokio::spawn({
        let cloud = cloud.clone();
        async move { post(&cloud, ACTIONS, to_two()).await }
    });
    cloud.wait_for(|s| s.holder(ip(A)) == Some(2)).await;
    assert_eq!(start.elapsed(), ms(30));
    caller.await.unwrap();
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_be_lost_before_or_after_the_effect() {
    let cloud = cloud();
    let rule = cloud.inject(
        Rule::new(On::call("POST", "/v2/reserved_ips/*/actions"), Fault::LostBefore).once(),
    );
    assert_eq!(send(&cloud, "POST", ACTIONS, to_two()).await.unwrap_err(), Lost);
    assert_eq!((cloud.holder(ip(A)), cloud.hits(rule)), (Some(1), 1));
    cloud.inject(Rule::new(On::mutations(), Fault::LostAfter).once());
    assert_eq!(send(&cloud, "POST", ACTIONS, to_two()).await.unwrap_err(), Lost);
    assert_eq!(cloud.holder(ip(A)), Some(2));
    let log = cloud.mutations();
    assert_eq!(
        (log[0].lost, log[0].status(), log[0].changed),
        (Some(Loss::BeforeEffect), None, false)
    );
    assert_eq!(
        (log[1].lost, log[1].status(), log[1].changed),
        (Some(Loss::AfterEffect), Some(201), true)
    );
}

#[tokio::test(start_paused = true)]
async fn errors_can_be_forced_a_number_of_times_with_the_vendor_s_body() {
    let cloud = cloud();
    cloud.inject(
        Rule::new(On::path("/v2/reserved_ips/**"), Fault::Answer(Answer::status(503))).times(2),
    );
    for _ in 0..2 {
        let answer = get(&cloud, ONE_IP).await;
        assert_eq!((answer.status, &answer.body["id"]), (503, &json!("service_unavailable")));
        assert!(answer.body["request_id"].is_string());
        assert_eq!(answer.header("ratelimit-limit"), "5000");
    }
    assert_eq!(get(&cloud, ONE_IP).await.status, 200);
    let until_cleared = cloud.inject(Rule::new(
        On::mutations(),
        Fault::Answer(Answer::status(422).message("no").header("x-odd", "1")),
    ));
    for _ in 0..3 {
        let answer = post(&cloud, ACTIONS, to_two()).await;
        assert_eq!((answer.status, answer.message(), answer.header("x-odd")), (422, "no", "1"));
    }
    cloud.clear(until_cleared);
    assert_eq!(post(&cloud, ACTIONS, to_two()).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_can_give_up_after_the_effect_with_a_page_of_its_own() {
    let cloud = cloud();
    let page = Answer::status(504).raw("text/html", "<html>504</html>");
    cloud.inject(Rule::new(On::mutations(), Fault::AnswerAfterEffect(page)).once());
    let answer = post(&cloud, ACTIONS, to_two()).await;
    assert_eq!((answer.status, answer.header("content-type")), (504, "text/html"));
    assert_eq!(cloud.holder(ip(A)), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_duplicated_request_has_its_effect_twice() {
    let cloud = cloud();
    cloud.inject(
        Rule::new(On::call("POST", "/v2/reserved_ips"), Fault::Own(CloudFault::Duplicated)).once(),
    );
    let answer = post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3"})).await;
    assert_eq!(answer.body["reserved_ip"]["ip"], "198.51.100.2");
    assert_eq!(cloud.addresses().len(), 3);
    assert_eq!(cloud.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn actions_can_error_do_nothing_take_longer_or_be_unknown_for_a_while() {
    let cloud = cloud();
    let on = || On::mutations().with_body("\"assign\"");
    cloud.inject(Rule::new(on(), Fault::Own(CloudFault::ActionErrors)).once());
    post(&cloud, ACTIONS, to_two()).await;
    assert_eq!(get(&cloud, ACTIONS).await.body["actions"][0]["status"], "errored");
    assert_eq!(cloud.holder(ip(A)), Some(1));

    cloud.inject(Rule::new(on(), Fault::Own(CloudFault::ActionIgnored)).once());
    post(&cloud, ACTIONS, to_two()).await;
    assert_eq!(get(&cloud, ACTIONS).await.body["actions"][0]["status"], "completed");
    assert_eq!(cloud.holder(ip(A)), Some(1));

    cloud.inject(Rule::new(on(), Fault::Own(CloudFault::ActionTakes(ms(9_000)))).once());
    cloud.inject(Rule::new(on(), Fault::Own(CloudFault::ActionHidden(ms(4_000)))).once());
    let id = post(&cloud, ACTIONS, to_two()).await.body["action"]["id"].clone();
    let action = format!("/v2/actions/{id}");
    assert_eq!(get(&cloud, &action).await.status, 404);
    assert_eq!(get(&cloud, ACTIONS).await.body["meta"]["total"], 2);
    tokio::time::advance(ms(4_000)).await;
    assert_eq!(get(&cloud, &action).await.body["action"]["status"], "in-progress");
    tokio::time::advance(ms(5_000)).await;
    assert_eq!(get(&cloud, &action).await.body["action"]["status"], "completed");
    assert_eq!(cloud.holder(ip(A)), Some(2));
}

#[tokio::test(start_paused = true)]
async fn reads_can_lag_behind_while_changes_are_judged_by_the_truth() {
    let cloud = cloud();
    cloud.set(|k| k.read_lag = ms(1_000));
    post(&cloud, ACTIONS, to_two()).await;
    let shown = |body: Value| body["reserved_ip"]["droplet"]["id"].clone();
    assert_eq!(cloud.holder(ip(A)), Some(2));
    assert_eq!(shown(get(&cloud, ONE_IP).await.body), 1);
    // The address is actually on machine 2 already.
    assert_eq!(post(&cloud, ACTIONS, to_two()).await.status, 422);
    tokio::time::advance(ms(999)).await;
    assert_eq!(shown(get(&cloud, ONE_IP).await.body), 1);
    tokio::time::advance(ms(1)).await;
    assert_eq!(shown(get(&cloud, ONE_IP).await.body), 2);
    cloud.human_moves(ip(A), None);
    cloud.set(|k| k.read_lag = Duration::ZERO);
    assert_eq!(shown(get(&cloud, ONE_IP).await.body), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_read_sees_an_action_finish_late_by_just_the_lag() {
    let cloud = cloud();
    cloud.set(|k| (k.read_lag, k.action_time) = (ms(500), ms(2_000)));
    post(&cloud, ACTIONS, to_two()).await;
    tokio::time::advance(ms(2_499)).await;
    assert_eq!(get(&cloud, ONE_IP).await.body["reserved_ip"]["locked"], true);
    tokio::time::advance(ms(1)).await;
    assert_eq!(get(&cloud, ONE_IP).await.body["reserved_ip"]["locked"], false);
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_counts_down_in_headers_and_answers_429() {
    let cloud = cloud();
    let limit = RateLimit { limit: 3, burst: 2, ..RateLimit::default() };
    cloud.set(|k| k.rate = Some(limit));
    let base = fakecloud::DEFAULT_BASE.as_second();
    let first = get(&cloud, ONE_IP).await;
    assert_eq!((first.header("ratelimit-limit"), first.header("ratelimit-remaining")), ("3", "2"));
    assert_eq!(first.header("ratelimit-reset"), (base + 3_600).to_string());
    tokio::time::advance(ms(20_000)).await;
    assert_eq!(get(&cloud, ONE_IP).await.header("ratelimit-remaining"), "1");
    let burst = get(&cloud, ONE_IP).await;
    assert_eq!((burst.status, burst.header("retry-after")), (429, "40"));
    assert_eq!(burst.body["id"], "too_many_requests");
    tokio::time::advance(ms(40_000)).await;
    assert_eq!(get(&cloud, ONE_IP).await.header("ratelimit-remaining"), "0");
    tokio::time::advance(ms(60_000)).await;
    let hour = get(&cloud, ONE_IP).await;
    assert_eq!((hour.status, hour.header("retry-after")), (429, ""));
    assert_eq!(hour.header("ratelimit-reset"), (base + 3_600).to_string());
    tokio::time::advance(ms(3_480_000)).await;
    assert_eq!(get(&cloud, ONE_IP).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn throttling_answers_429_until_it_is_over() {
    let cloud = cloud();
    cloud.throttle_for(ms(7_500));
    let answer = post(&cloud, ACTIONS, to_two()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, "8"));
    assert_eq!(answer.header("ratelimit-remaining"), "0");
    let reset = (fakecloud::DEFAULT_BASE.as_second() + 8).to_string();
    assert_eq!(answer.header("ratelimit-reset"), reset);
    assert_eq!(answer.header("date"), "Mon, 21 Sep 2026 14:13:20 GMT");
    tokio::time::advance(ms(7_500)).await;
    assert_eq!(post(&cloud, ACTIONS, to_two()).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn a_page_gap_skips_one_item_between_pages() {
    let cloud = client::fresh();
    for n in 1..=5 {
        cloud.reserve([203, 0, 113, n], "nyc3");
    }
    cloud.inject(Rule::new(On::call("GET", "/v2/reserved_ips"), Fault::Own(CloudFault::PageGap)));
    let mut seen = Vec::new();
    for page in 1..=3 {
        let body = get(&cloud, &format!("/v2/reserved_ips?per_page=2&page={page}")).await.body;
        let items = body["reserved_ips"].as_array().unwrap().clone();
        seen.extend(items.iter().map(|i| i["ip"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen, ["203.0.113.1", "203.0.113.2", "203.0.113.4", "203.0.113.5"]);
}

#[tokio::test(start_paused = true)]
async fn chance_is_seeded() {
    let run = async |seed: u64| -> Vec<u16> {
        let cloud = cloud();
        cloud.seed(seed).set(|k| k.jitter = ms(10));
        cloud.inject(Rule::new(On::reads(), Fault::Answer(Answer::status(500))).percent(50));
        let mut statuses = Vec::new();
        for _ in 0..32 {
            statuses.push(get(&cloud, ONE_IP).await.status);
        }
        statuses
    };
    let first = run(1).await;
    assert_eq!(first, run(1).await);
    assert_ne!(first, run(2).await);
    assert!(first.contains(&200) && first.contains(&500));
}

#[tokio::test(start_paused = true)]
async fn every_exchange_is_recorded_and_can_be_asked_for() {
    let cloud = cloud();
    get(&cloud, "/v2/reserved_ips?page=1").await;
    let mark = cloud.mark();
    tokio::time::advance(ms(1_500)).await;
    post(&cloud, ACTIONS, to_two()).await;
    get(&cloud, ONE_IP).await;
    assert_eq!(cloud.counts(), (3, 1));
    assert_eq!(cloud.log().len(), 3);
    assert_eq!(cloud.log_since(mark).len(), 2);
    let mutations = cloud.mutations_since(mark);
    assert_eq!(mutations.len(), 1);
    let exchange = &mutations[0];
    assert_eq!(
        (exchange.sequence, exchange.method.as_str(), exchange.path()),
        (1, "POST", ACTIONS)
    );
    assert_eq!(exchange.at, "2026-09-21T14:13:21.5Z");
    assert_eq!(exchange.user_agent.as_deref(), Some("test/1"));
    assert_eq!(exchange.json(), to_two());
    assert_eq!(exchange.answer.as_ref().unwrap().json()["action"]["type"], "assign_ip");
    assert!(cloud.log().iter().all(|e| e.answer.as_ref().unwrap().header("date").is_some()));
    assert_eq!(cloud.log()[0].query(), "page=1");
}

#[tokio::test(start_paused = true)]
async fn recording_can_be_bounded_or_off() {
    let cloud = cloud();
    cloud.recording(Recording::Last(2));
    for _ in 0..5 {
        get(&cloud, ONE_IP).await;
    }
    let kept: Vec<u64> = cloud.log().iter().map(|e| e.sequence).collect();
    assert_eq!(kept, [3, 4]);
    cloud.recording(Recording::Off);
    post(&cloud, ACTIONS, to_two()).await;
    assert_eq!((cloud.log().len(), cloud.counts()), (0, (6, 1)));
}

#[tokio::test(start_paused = true)]
async fn the_record_is_written_when_the_cloud_is_dropped_each_to_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let cloud = cloud();
        cloud.dump_on_drop(Some(folder.path()));
        get(&cloud, ONE_IP).await;
        post(&cloud, ACTIONS, to_two()).await;
    }
    tokio::task::yield_now().await;
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        let read = read_dump(&file).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].json(), to_two());
        assert_eq!(read[1].status(), Some(201));
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_calls_give_byte_equal_records() {
    let run = async || {
        let cloud = cloud();
        cloud.set(|k| (k.latency_before, k.jitter, k.action_time) = (ms(5), ms(20), ms(700)));
        let calls = (0..20).map(|n| {
            let cloud = cloud.clone();
            tokio::spawn(async move {
                if n % 2 == 0 {
                    post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3"})).await
                } else {
                    get(&cloud, "/v2/reserved_ips").await
                }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        serde_json::to_string(&cloud.log()).unwrap()
    };
    assert_eq!(run().await, run().await);
}
