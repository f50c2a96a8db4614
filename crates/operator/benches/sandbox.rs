//! The sandbox under load. Prints figures; fails only if measuring is impossible.
//!
//! ```text
//! cargo bench -p pontoon --bench sandbox
//! ```

// A benchmark, like a test, may panic, and prints its results.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() {
    // `cargo test --benches` only checks that the benchmark builds.
    if std::env::args().any(|arg| arg == "--bench") {
        measure("3 nodes, 1 pool", &[]);
        measure("5,000 nodes, 100 pools", &["--nodes", "5000", "--pools", "100"]);
    }
}

fn measure(what: &str, args: &[&str]) {
    let started = Instant::now();
    let mut sandbox = Command::new(env!("CARGO_BIN_EXE_pontoon"))
        .arg("sandbox")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut commands = sandbox.stdin.take().unwrap();
    let mut lines = BufReader::new(sandbox.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("KUBECONFIG")).unwrap();
    println!("{:<44} {:?}", format!("{what}: up"), started.elapsed());
    writeln!(commands, "wait\nadd").unwrap();
    lines.find(|line| line.contains("joins")).unwrap();
    println!("{:<44} {:?}", format!("{what}: every pool ready"), started.elapsed());
    let killed = Instant::now();
    writeln!(commands, "kill node-1").unwrap();
    lines.find(|line| line.contains("moved node-1")).unwrap();
    println!("{:<44} {:?}", format!("{what}: kill -> moved and confirmed"), killed.elapsed());
    writeln!(commands, "quit").unwrap();
    assert!(sandbox.wait().unwrap().success());
}
