//! Files and variables with which the operator does not start.

use std::path::Path;
use std::process::Command;

/// The message of an operator that does not start.
fn refused(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pontoon"));
    command.args(["run", "--metrics-bind-addr=0", "--kubeconfig=/nowhere"]).args(arguments);
    let done = command.envs(variables.iter().copied()).output().unwrap();
    assert!(!done.status.success());
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn a_token_in_a_variable_and_in_a_file_is_refused_with_both_names() {
    for name in ["DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_TOKEN", "GCP_ACCESS_TOKEN"] {
        let file = format!("{name}_FILE");
        let said = refused(&[], &[(name, "canary-token"), (&file, "/run/canary-path")]);
        assert!(said.contains(&format!("{name} and {file} are both set: keep one")), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

fn with_policy(path: &Path) -> String {
    refused(&["--policy", path.to_str().unwrap()], &[])
}

#[test]
fn a_policy_that_cannot_be_read_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    assert!(with_policy(&path).contains("policy.yaml"));
    std::fs::write(&path, "rules:\n- namespaces: [a]\n  provider: [gcp]\n").unwrap();
    let said = with_policy(&path);
    assert!(said.contains("policy.yaml") && said.contains("line 3"), "{said}");
    assert!(said.contains("provider"), "{said}");
}
