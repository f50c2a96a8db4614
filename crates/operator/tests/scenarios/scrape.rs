//! Compares the metrics of a replica with the pages in `scrapes/`: every series with a name of the
//! predecessor, with its type, labels and value.
//!
//! The number of reads depends on time: the pages have `+` for the value of such a series, and omit
//! series of calls that may not happen. Histograms appear with their count; the buckets are checked
//! here.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::arena::eventually;
use crate::replica::Replica;

/// The read calls, with time-dependent counts.
const READS: [&str; 2] = ["IPToProviderID", "ListDNSRecords"];

/// The call that happens only if listings leave an operation open for long.
const SOMETIMES: &str = "call=\"ReadOperation\"";

/// The default buckets of Go's client.
const BUCKETS: [&str; 12] =
    ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"];

/// Complaints of promtool about names that existing dashboards use.
const KNOWN_COMPLAINTS: [&str; 2] = [
    "flipop_floatingippoolcontroller_ip_assignment_errors counter metrics should have \"_total\" suffix",
    "flipop_floatingippoolcontroller_ip_assignments counter metrics should have \"_total\" suffix",
];

impl Replica {
    /// Waits until the page equals `scrapes/<name>.txt`, with `new` in place of `NEW`.
    pub async fn shows(&self, name: &str, new: Option<&str>) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/scenarios/scrapes/{name}.txt"));
        let wanted = std::fs::read_to_string(file).unwrap();
        let wanted = wanted.replace("NEW", new.unwrap_or("NEW"));
        let mut wanted: Vec<_> = wanted.lines().filter(|line| !line.is_empty()).collect();
        wanted.sort_unstable();
        let page = eventually(&format!("the page {name}"), || async {
            let page = self.scrape().await;
            let shown = essence(&page);
            if shown == wanted { Ok(page) } else { Err(shown) }
        })
        .await;
        check_histograms(&page);
        check_by_promtool(&page).await;
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

    async fn scrape(&self) -> String {
        let answer = self.page("/metrics").await.unwrap_or_default();
        answer.split_once("\r\n\r\n").map(|(_, page)| page.to_owned()).unwrap_or_default()
    }
}

/// The predecessor's series and their types, sorted.
fn essence(page: &str) -> Vec<String> {
    let mut lines: Vec<_> = page.lines().filter_map(essential).collect();
    lines.sort_unstable();
    lines
}

fn essential(line: &str) -> Option<String> {
    if line.starts_with("# TYPE flipop_") {
        return Some(line.to_owned());
    }
    let (series, value) = line.rsplit_once(' ')?;
    let name = series.split_once('{')?.0;
    let left_out =
        name.ends_with("_bucket") || name.ends_with("_sum") || series.contains(SOMETIMES);
    if left_out || !name.starts_with("flipop_") {
        return None;
    }
    let is_read = READS.iter().any(|call| series.contains(&format!("call=\"{call}\"")));
    let value = if is_read && value != "0" { "+" } else { value };
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
    let page = page.to_owned();
    let said = tokio::task::spawn_blocking(move || ask_promtool(&page)).await.unwrap();
    match said {
        Ok(said) => {
            let unknown = |line: &&str| !KNOWN_COMPLAINTS.contains(line);
            let complaints: Vec<_> = said.lines().filter(unknown).collect();
            assert!(complaints.is_empty(), "{complaints:#?}");
        }
        Err(missing) => skip(&missing),
    }
}

/// The output of `promtool check metrics`; empty without complaints.
fn ask_promtool(page: &str) -> Result<String, String> {
    let fetch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../promtool/fetch");
    let fetched = Command::new(fetch).output().map_err(|error| format!("{fetch}: {error}"))?;
    if !fetched.status.success() {
        return Err(String::from_utf8_lossy(&fetched.stderr).trim().to_owned());
    }
    let promtool = String::from_utf8_lossy(&fetched.stdout).trim().to_owned();
    let mut check = Command::new(&promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped());
    let check = check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut check = check.map_err(|error| format!("{promtool}: {error}"))?;
    check.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    // Exit code 3 means complaints.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
    Ok(said)
}

/// Reports a skip to standard error directly, because the test harness hides the output of passing
/// tests. On CI a skip is a failure.
fn skip(missing: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    let line = format!("SKIPPED: {missing}: promtool was NOT asked about the metrics\n");
    drop(std::io::stderr().write_all(line.as_bytes()));
}
