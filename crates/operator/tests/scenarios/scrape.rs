//! Compares the metrics of a replica with the pages in `scrapes/`: every series with a name of a
//! predecessor, with its type, labels and value.
//!
//! The number of reads depends on time: the pages have `+` for the value of such a series, and omit
//! series of calls that may not happen. Histograms appear with their count; the buckets are checked
//! here.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::arena::eventually;
use crate::promtool::{promtool, said};
use crate::replica::Replica;

/// The beginning of a predecessor's names.
const FLIPOP: &str = "flipop_";
const IP_ADDRESS_CONTROLLER: &str = "netipallocation_";

/// Labels of calls and plans with time-dependent counts.
const REPEATED: [&str; 3] =
    ["call=\"IPToProviderID\"", "call=\"ListDNSRecords\"", "operation=\"check_ip\""];

/// Series of plans, with time-dependent counts.
const PLANS: &str = "netipallocation_reconcile_";

/// The call that happens only if listings leave an operation open for long.
const SOMETIMES: &str = "call=\"ReadOperation\"";

/// The default buckets of Go's client.
const BUCKETS: [&str; 12] =
    ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"];

/// Complaints of promtool about names that existing dashboards use.
const KNOWN_COMPLAINTS: [&str; 5] = [
    "flipop_floatingippoolcontroller_ip_assignment_errors counter metrics should have \"_total\" suffix",
    "flipop_floatingippoolcontroller_ip_assignments counter metrics should have \"_total\" suffix",
    "netipallocation_attached_ips_total non-counter metrics should not have \"_total\" suffix",
    "netipallocation_reserved_ips_total non-counter metrics should not have \"_total\" suffix",
    "netipallocation_unattached_ips_total non-counter metrics should not have \"_total\" suffix",
];

impl Replica {
    /// Waits until FLIPOP's series equal `scrapes/<name>.txt`, with `new` in place of `NEW`.
    pub async fn shows(&self, name: &str, new: Option<&str>) {
        let page = self.equals(FLIPOP, name, new.unwrap_or("NEW")).await;
        check_histograms(&page);
    }

    /// Waits until ip-address-controller's series equal `scrapes/<name>.txt`.
    pub async fn shows_allocations(&self, name: &str) {
        self.equals(IP_ADDRESS_CONTROLLER, name, "NEW").await;
    }

    /// Waits until the series of a predecessor equal a page; returns the whole scrape.
    async fn equals(&self, prefix: &str, name: &str, new: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/scenarios/scrapes/{name}.txt"));
        let wanted = std::fs::read_to_string(file).unwrap();
        let wanted = wanted.replace("NEW", new);
        let mut wanted: Vec<_> = wanted.lines().filter(|line| !line.is_empty()).collect();
        wanted.sort_unstable();
        let page = eventually(&format!("the page {name}"), || async {
            let page = self.scrape().await;
            let shown = essence(&page, prefix);
            if shown == wanted { Ok(page) } else { Err(shown) }
        })
        .await;
        check_by_promtool(&page).await;
        page
    }

    /// Waits until the page shows only the replica's own process.
    pub async fn shows_its_process_alone(&self) {
        eventually("a page of the process alone", || async {
            let page = self.scrape().await;
            let ours = |line: &&str| {
                let own = ["#", "pontoon_", "process_", "netipallocation_controller_"];
                own.iter().any(|start| line.starts_with(start))
            };
            let others: Vec<_> = page.lines().filter(|line| !ours(line)).collect();
            let others = others.join("\n");
            let own = ["pontoon_leader 0", "pontoon_build_info{", "process_cpu_seconds_total "];
            let has = |series: &&str| page.lines().any(|line| line.starts_with(series));
            if others.is_empty() && own.iter().all(has) { Ok(()) } else { Err((others, page)) }
        })
        .await;
    }

    /// The page without its HTTP headers; empty if there is none.
    pub async fn scrape(&self) -> String {
        let answer = self.page("/metrics").await.unwrap_or_default();
        answer.split_once("\r\n\r\n").map(|(_, page)| page.to_owned()).unwrap_or_default()
    }
}

/// A predecessor's series and their types, sorted.
fn essence(page: &str, prefix: &str) -> Vec<String> {
    let mut lines: Vec<_> = page.lines().filter_map(|line| essential(line, prefix)).collect();
    lines.sort_unstable();
    lines
}

fn essential(line: &str, prefix: &str) -> Option<String> {
    if line.strip_prefix("# TYPE ").is_some_and(|name| name.starts_with(prefix)) {
        return Some(line.to_owned());
    }
    let (series, value) = line.rsplit_once(' ')?;
    let name = series.split_once('{')?.0;
    let left_out =
        name.ends_with("_bucket") || name.ends_with("_sum") || series.contains(SOMETIMES);
    if left_out || !name.starts_with(prefix) {
        return None;
    }
    let repeated = name.starts_with(PLANS) || REPEATED.iter().any(|labels| series.contains(labels));
    let value = if repeated && value != "0" { "+" } else { value };
    Some(format!("{series} {value}"))
}

/// Asserts that every histogram of calls has Go's buckets, with cumulative counts.
fn check_histograms(page: &str) {
    let name = "flipop_providers_call_duration_seconds";
    let mut buckets: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix(name)) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        if let Some(series) = series.strip_prefix("_bucket") {
            let (before, bound) = series.split_once("le=\"").unwrap();
            let (bound, after) = bound.split_once('"').unwrap();
            let labels = format!("{before}{}", after.trim_start_matches(','));
            buckets.entry(labels).or_default().push((bound.to_owned(), value as u64));
        } else if let Some(labels) = series.strip_prefix("_count") {
            counts.insert(labels.to_owned(), value as u64);
        } else {
            let seconds = Duration::from_secs_f64(value);
            assert!(seconds < Duration::from_secs(600), "{line}");
        }
    }
    assert_eq!(buckets.len(), counts.len());
    for ((labels, buckets), (_, count)) in buckets.iter().zip(&counts) {
        let bounds: Vec<_> = buckets.iter().map(|(bound, _)| bound.as_str()).collect();
        assert_eq!(bounds, BUCKETS, "{labels}");
        assert!(buckets.is_sorted_by_key(|(_, held)| *held), "{labels}: {buckets:?}");
        assert!(*count > 0 && buckets.last().unwrap().1 == *count, "{labels}: {buckets:?}");
    }
}

/// Checks the page with Prometheus' own tool.
async fn check_by_promtool(page: &str) {
    let Some(output) = promtool(&["check", "metrics"], page).await else { return };
    let said = said(&output);
    // Exit code 3 means complaints.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
    let unknown = |line: &&str| !KNOWN_COMPLAINTS.contains(line);
    let complaints: Vec<_> = said.lines().filter(unknown).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
