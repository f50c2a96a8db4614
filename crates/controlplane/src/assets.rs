//! Finds the binaries. In: the environment and the workspace's `control-plane/build`. Out: a folder
//! with `etcd` and `kube-apiserver`, or the reason why no folder was found.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::Error;

/// The script that builds the binaries, or finds them in its cache.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../control-plane/build");

/// The binaries that every plane needs. Other binaries are looked up at their first use.
const NEEDED: [&str; 2] = ["etcd", "kube-apiserver"];

/// The control plane's binaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assets {
    /// The folder that holds at least `etcd` and `kube-apiserver`.
    Found(PathBuf),
    /// The reason why no folder was found.
    Missing(String),
}

/// Finds the binaries: in `KUBEBUILDER_ASSETS` if the variable is set, else with the workspace's
/// `control-plane/build`.
///
/// The first call on a machine with Go builds the binaries and blocks for minutes; later calls
/// answer at once from the script's cache. A folder in the answer holds all the needed binaries.
#[must_use]
pub fn assets() -> Assets {
    match env::var_os("KUBEBUILDER_ASSETS") {
        Some(folder) if !folder.is_empty() => complete(PathBuf::from(folder)),
        _ => match build(Command::new(BUILD)) {
            Assets::Found(folder) => complete(folder),
            missing => missing,
        },
    }
}

/// The binaries, or `None` after a line on stderr with the skipped test and the reason. With
/// `CI=true` the line is an error instead: CI must not skip tests.
pub(crate) async fn found_or_skipped() -> Result<Option<PathBuf>, Error> {
    or_skipped(assets).await
}

/// As [`found_or_skipped`], for other binaries.
pub(crate) async fn or_skipped(
    find: impl FnOnce() -> Assets + Send + 'static,
) -> Result<Option<PathBuf>, Error> {
    // A blocking thread, because the first build takes minutes.
    let assets = tokio::task::spawn_blocking(find)
        .await
        .unwrap_or_else(|panicked| Assets::Missing(panicked.to_string()));
    let reason = match assets {
        Assets::Found(folder) => return Ok(Some(folder)),
        Assets::Missing(reason) => reason,
    };
    if env::var_os("CI").is_some_and(|ci| ci == "true") {
        return Err(Error::AssetsMissing(reason));
    }
    let line = skip_line(thread::current().name(), &reason);
    // Not `eprintln!`: the test harness captures its output and hides the line of a passing test.
    let _ = io::stderr().write_all(line.as_bytes());
    Ok(None)
}

fn skip_line(test: Option<&str>, reason: &str) -> String {
    let test = test.unwrap_or("a test");
    let reason = reason.replace('\n', " ");
    format!("SKIPPED: {test} needs Go or KUBEBUILDER_ASSETS: {reason}\n")
}

fn complete(folder: PathBuf) -> Assets {
    match NEEDED.iter().find(|name| !folder.join(name).is_file()) {
        Some(name) => Assets::Missing(format!("{} holds no {name}", folder.display())),
        None => Assets::Found(folder),
    }
}

/// The folder that a build script prints.
pub(crate) fn build(mut script: Command) -> Assets {
    script.stdin(Stdio::null());
    if go_is_on(env::var_os("PATH").as_deref()) {
        // With Go the script may build for minutes, so its progress goes to the terminal. Without
        // Go the script only looks in its cache, and its stderr becomes the reason.
        script.stderr(Stdio::inherit());
    }
    let name = script.get_program().display().to_string();
    let output = match script.output() {
        Ok(output) => output,
        Err(error) => return Assets::Missing(format!("{name}: {error}")),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Assets::Missing(format!("{name}: {} {}", output.status, said.trim()));
    }
    Assets::Found(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn go_is_on(path: Option<&OsStr>) -> bool {
    path.is_some_and(|path| env::split_paths(path).any(|folder| is_program(&folder.join("go"))))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_binaries_is_missing_and_names_the_first() {
        let empty = tempfile::tempdir().unwrap();

        let Assets::Missing(reason) = complete(empty.path().to_owned()) else {
            panic!("an empty folder was taken for the binaries");
        };

        assert!(reason.ends_with("holds no etcd"), "{reason}");
    }

    #[test]
    fn a_folder_with_both_binaries_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in NEEDED {
            std::fs::write(folder.path().join(name), "").unwrap();
        }

        assert_eq!(complete(folder.path().to_owned()), Assets::Found(folder.path().to_owned()));
    }

    #[test]
    fn go_must_be_a_program_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!go_is_on(None));
        assert!(!go_is_on(Some(folder.path().as_os_str())));

        std::fs::write(folder.path().join("go"), "not a program").unwrap();

        assert!(!go_is_on(Some(folder.path().as_os_str())));
    }

    #[test]
    fn the_skip_message_is_one_line() {
        assert_eq!(
            skip_line(Some("a_test"), "no\nGo"),
            "SKIPPED: a_test needs Go or KUBEBUILDER_ASSETS: no Go\n"
        );
    }
}
