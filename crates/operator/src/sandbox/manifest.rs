//! Manifests of the user.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The file name for standard input.
const STDIN: &str = "-";

/// File extensions that `kubectl apply -f FOLDER` reads.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Whether manifests are read from standard input.
pub fn takes_stdin(files: &[PathBuf]) -> bool {
    files.iter().any(|file| file.as_os_str() == STDIN)
}

/// Reads the objects of manifest files, folders, or standard input (`-`), with `List`s expanded.
///
/// # Errors
/// In words, with the file's name. A file without objects is an error too.
pub fn read(files: &[PathBuf]) -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    for given in files {
        let files = if given.is_dir() { folder(given)? } else { vec![given.clone()] };
        let before = objects.len();
        for file in files {
            for object in parse(&file, &text(&file)?)? {
                match object["items"].as_array() {
                    Some(items) if object["kind"] == "List" => objects.extend(items.clone()),
                    _ => objects.push(object),
                }
            }
        }
        if objects.len() == before {
            return Err(format!("{} holds no object", shown(given)));
        }
    }
    Ok(objects)
}

fn text(file: &Path) -> Result<String, String> {
    let problem = |error: std::io::Error| format!("cannot read {}: {error}", shown(file));
    if file.as_os_str() == STDIN {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(problem)?;
        return Ok(text);
    }
    std::fs::read_to_string(file).map_err(problem)
}

/// The manifests in a folder, sorted by name, without subfolders.
fn folder(path: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: std::io::Error| format!("cannot read {}: {error}", shown(path));
    let entries = std::fs::read_dir(path).map_err(problem)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(problem));
    let mut files = paths.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        file.is_file() && ENDINGS.contains(&ending)
    });
    files.sort();
    Ok(files)
}

fn shown(file: &Path) -> String {
    if file.as_os_str() == STDIN { "standard input".to_owned() } else { file.display().to_string() }
}

fn parse(file: &Path, text: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| format!("{} is not YAML: {error}", shown(file)))?;
    let documents: Vec<_> = documents.into_iter().filter(|one| !one.is_null()).collect();
    for object in &documents {
        for field in ["apiVersion", "kind"] {
            if !object[field].is_string() {
                return Err(format!("{}: an object has no {field}", shown(file)));
            }
        }
    }
    Ok(documents)
}

/// Kind and name of an object, for messages.
pub fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_by_name_and_an_empty_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n");
        for (file, text) in [("b.yaml", name("b")), ("a.json", name("a")), ("c.txt", name("c"))] {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let objects = read(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> = objects.iter().map(|one| &one["metadata"]["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        let empty = folder.path().join("empty.yaml");
        std::fs::write(&empty, "# nothing\n---\n").unwrap();
        assert!(read(&[empty]).unwrap_err().ends_with("empty.yaml holds no object"));
    }
}
