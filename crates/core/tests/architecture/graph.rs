//! The packages of the workspace and their dependencies, as cargo resolves them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Packages, and their normal dependencies.
pub struct Graph {
    packages: BTreeMap<String, Package>,
    members: BTreeSet<String>,
}

struct Package {
    name: String,
    version: String,
    licence: String,
    /// Whether the package comes from a registry.
    foreign: bool,
    /// Normal dependencies, by package id.
    needs: Vec<String>,
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders up").to_owned()
}

/// The host platform. Dependencies of other platforms are neither fetched nor shipped.
fn platform() -> String {
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("cargo names its host").to_owned()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--locked", "--offline"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}: {problem}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("text")
}

/// The features of `package` in a release build of `root`.
pub fn features(root: &str, package: &str) -> BTreeSet<String> {
    let arguments = ["tree", "-p", root, "-e", "normal", "--prefix", "none", "-f", "{p}|{f}"];
    let tree = cargo(&arguments);
    let line = tree.lines().find(|line| line.split(' ').next() == Some(package));
    let features = line.and_then(|line| line.rsplit_once('|')).map_or("", |(_, features)| features);
    features.split(',').filter(|one| !one.is_empty()).map(ToOwned::to_owned).collect()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value[field].as_array().into_iter().flatten()
}

/// Whether a dependency is a normal one, neither for tests nor for builds.
fn is_normal(dependency: &Value) -> bool {
    list(dependency, "dep_kinds").any(|kind| kind["kind"].is_null())
}

impl Graph {
    pub fn read() -> Self {
        let platform = platform();
        let arguments = ["metadata", "--format-version", "1", "--filter-platform", &platform];
        let metadata: Value = serde_json::from_str(&cargo(&arguments)).expect("JSON");
        let mut packages: BTreeMap<String, Package> = list(&metadata, "packages")
            .map(|package| {
                let read = Package {
                    name: text(package, "name"),
                    version: text(package, "version"),
                    licence: text(package, "license"),
                    foreign: !package["source"].is_null(),
                    needs: vec![],
                };
                (text(package, "id"), read)
            })
            .collect();
        for node in list(&metadata["resolve"], "nodes") {
            let needs = list(node, "deps").filter(|one| is_normal(one)).map(|one| text(one, "pkg"));
            packages.get_mut(&text(node, "id")).expect("a package").needs = needs.collect();
        }
        let members = list(&metadata, "workspace_members").filter_map(Value::as_str);
        let members = members.map(ToOwned::to_owned).collect();
        Self { packages, members }
    }

    /// The names of our own packages.
    pub fn members(&self) -> Vec<&str> {
        self.members.iter().map(|id| self.packages[id].name.as_str()).collect()
    }

    /// Every package from a registry: name, version, licence.
    pub fn third_party(&self) -> impl Iterator<Item = (String, String, String)> {
        let foreign = self.packages.values().filter(|one| one.foreign);
        foreign.map(|one| (one.name.clone(), one.version.clone(), one.licence.clone()))
    }

    /// Panics with the path if `root` depends on a banned package. A final `*` in a name matches
    /// any suffix.
    pub fn assert_never_reaches(&self, root: &str, banned: &[&str]) {
        let is_banned = |name: &str| {
            name != root
                && banned.iter().any(|ban| match ban.strip_suffix('*') {
                    Some(beginning) => name.starts_with(beginning),
                    None => name == *ban,
                })
        };
        let ways: Vec<_> = self
            .reached_from(root)
            .into_iter()
            .filter(|way| way.last().is_some_and(|name| is_banned(name)))
            .map(|way| way.join(" -> "))
            .collect();
        assert!(ways.is_empty(), "{root} must not depend on:\n{}", ways.join("\n"));
    }

    /// The shortest normal dependency path from our packages to a package, for messages.
    pub fn why(&self, name: &str) -> String {
        let ways = self.members().into_iter().flat_map(|member| self.reached_from(member));
        let to_it = ways.filter(|way| way.last().is_some_and(|last| *last == name));
        let shortest = to_it.min_by_key(Vec::len);
        shortest.map_or("only for tests or builds".to_owned(), |way| way.join(" -> "))
    }

    /// The shortest path to every package that `root` depends on, including `root` itself.
    fn reached_from(&self, root: &str) -> Vec<Vec<&str>> {
        let start = self.members.iter().find(|id| self.packages[*id].name == root);
        let start = start.unwrap_or_else(|| panic!("there is no package {root}"));
        let root = self.packages[start].name.as_str();
        let mut seen: BTreeSet<&str> = [start.as_str()].into();
        let mut queue: VecDeque<(&str, Vec<&str>)> = [(start.as_str(), vec![root])].into();
        let mut ways = vec![];
        while let Some((id, way)) = queue.pop_front() {
            for next in &self.packages[id].needs {
                if seen.insert(next) {
                    let mut longer = way.clone();
                    longer.push(&self.packages[next].name);
                    queue.push_back((next, longer));
                }
            }
            ways.push(way);
        }
        ways
    }
}
