//! A real Prometheus that scrapes sandboxes each second.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::LIMIT;

/// A running Prometheus.
pub struct Prometheus {
    process: Child,
    address: String,
    /// Seconds since the epoch, before the first scrape.
    began: u64,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts a Prometheus with these targets and files of rules; without Prometheus returns `None` with a
    /// message, on CI a failure.
    pub fn start(targets: &[String], rules: &[Value]) -> Option<Self> {
        let program = match fetched() {
            Ok(program) => program,
            Err(missing) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
                eprintln!("SKIPPED: {missing}: no Prometheus was asked");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &Value| {
            std::fs::write(folder.path().join(name), text.to_string()).unwrap();
        };
        let names: Vec<_> = (0..rules.len()).map(|number| format!("rules-{number}.yml")).collect();
        names.iter().zip(rules).for_each(|(name, rules)| write(name, rules));
        let scrape = json!({"job_name": "pontoon", "honor_labels": true,
                            "static_configs": [{"targets": targets}]});
        let second = json!({"scrape_interval": "1s", "evaluation_interval": "1s"});
        write(
            "prometheus.yml",
            &json!({"global": second, "rule_files": names, "scrape_configs": [scrape]}),
        );
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let process = Command::new(program)
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"])
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let this = Self { process, address, began: now(), _folder: folder };
        until("a Prometheus that is ready", || {
            let answer = this.get("/-/ready");
            if answer.contains(" 200 ") { Ok(()) } else { Err(answer) }
        });
        Some(this)
    }

    /// The data of an API call.
    fn call(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let each = parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let answer = self.get(&format!("/api/v1/{path}?{}", each.collect::<Vec<_>>().join("&")));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let mut body: Value = serde_json::from_str(body).unwrap_or_default();
        assert_eq!(body["status"], "success", "{parameters:?}: {answer}");
        body["data"].take()
    }

    /// Whether a query has had a number for an answer at some time since the start, as a panel shows it.
    pub fn has_answered(&self, query: &str) -> bool {
        let (start, end) = (self.began.to_string(), now().to_string());
        let range = [("query", query), ("start", &start), ("end", &end), ("step", "1")];
        let data = self.call("query_range", &range);
        let numbers = |series: &Value| array(&series["values"]).into_iter().any(|one| finite(&one));
        array(&data["result"]).iter().any(numbers)
    }

    /// Waits until a query has had an answer.
    pub fn answers(&self, query: &str) {
        until(&format!("an answer to {query}"), || {
            if self.has_answered(query) { Ok(()) } else { Err("none yet") }
        });
    }

    /// All values of a label of a series.
    pub fn values(&self, label: &str, series: &str) -> Vec<String> {
        let data = self.call(&format!("label/{label}/values"), &[("match[]", series)]);
        serde_json::from_value(data).unwrap()
    }

    /// All labels of a series; empty if there is no such series.
    pub fn labels(&self, series: &str) -> Vec<String> {
        serde_json::from_value(self.call("labels", &[("match[]", series)])).unwrap()
    }

    /// The alerting rules, as Prometheus has read and evaluated them.
    pub fn rules(&self) -> Vec<Value> {
        let groups = array(&self.call("rules", &[("type", "alert")])["groups"]);
        groups.iter().flat_map(|group| array(&group["rules"])).collect()
    }

    fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return String::new() };
        let mut answer = String::new();
        // An answer to HTTP/1.0 comes in one piece.
        let sent = write!(stream, "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", self.address);
        if sent.and_then(|()| stream.read_to_string(&mut answer)).is_err() {
            return String::new();
        }
        answer
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Fails if the process has already ended, which is fine.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits until something holds; fails with its last complaint.
pub fn until<T, E: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(done) => return done,
            Err(complaint) => assert!(begun.elapsed() < LIMIT, "never {what}: {complaint:?}"),
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The path of Prometheus.
fn fetched() -> Result<String, String> {
    let fetch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../promtool/fetch");
    let done = Command::new(fetch).arg("prometheus").output();
    let done = done.map_err(|error| format!("{fetch}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

pub fn array(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Whether a sample is a number.
fn finite(sample: &Value) -> bool {
    let number: Option<f64> = sample[1].as_str().and_then(|text| text.parse().ok());
    number.is_some_and(f64::is_finite)
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => (byte as char).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
