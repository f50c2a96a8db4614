//! Tests without binaries are skipped with a message; on CI they fail.

use std::process::Output;

use crate::victim;

fn ask_without_binaries(ci: Option<&str>) -> Output {
    let mut test = victim::command("victim::asks_for_a_plane");
    test.env("KUBEBUILDER_ASSETS", "/nowhere").env_remove("CI");
    if let Some(ci) = ci {
        test.env("CI", ci);
    }
    test.output().expect("the second process")
}

#[test]
fn a_test_without_binaries_is_skipped_with_one_line_on_stderr() {
    let output = ask_without_binaries(None);

    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "SKIPPED: victim::asks_for_a_plane needs Go or KUBEBUILDER_ASSETS: /nowhere holds no etcd\n"
    );
}

#[test]
fn on_ci_a_test_without_binaries_fails() {
    let output = ask_without_binaries(Some("true"));

    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no control plane: /nowhere holds no etcd"), "{said}");
}
