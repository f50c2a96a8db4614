//! Finds source files that no `mod` declares, and that are therefore neither compiled nor tested.
//!
//! Works on text, without parsing Rust: a file counts as declared if the owner of its folder has a
//! line `mod name;`, or if any file of the crate names it in a `#[path]`.

use std::fs;
use std::path::{Path, PathBuf};

/// The orphans in `src` of every crate in a folder.
pub fn find(crates: &Path) -> Vec<PathBuf> {
    let sources = entries(crates).into_iter().map(|one| one.join("src")).filter(|one| one.is_dir());
    sources.flat_map(|source| orphans_of(&source)).collect()
}

fn orphans_of(source: &Path) -> Vec<PathBuf> {
    let files = rust_files(source);
    let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
    let by_path = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let paths = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        paths.filter(|line| line.starts_with("#[path")).any(|line| line.contains(&*name))
    };
    let declared = |file: &PathBuf| is_root(source, file) || is_declared(file) || by_path(file);
    files.iter().filter(|file| !declared(file)).cloned().collect()
}

/// Whether cargo finds the file without a `mod`.
fn is_root(source: &Path, file: &Path) -> bool {
    let at_top = ["lib.rs", "main.rs"].iter().any(|name| *file == source.join(name));
    at_top || file.starts_with(source.join("bin"))
}

/// Whether the owner of the file's folder declares the module.
fn is_declared(file: &Path) -> bool {
    let folder = file.parent().expect("a file is in a folder");
    let is_folder_module = file.file_name().is_some_and(|name| name == "mod.rs");
    let (module, home) = if is_folder_module {
        (folder.file_name(), folder.parent().expect("a folder is in a folder"))
    } else {
        (file.file_stem(), folder)
    };
    let module = module.unwrap_or_default().to_string_lossy();
    let beside = home.with_extension("rs");
    let owners = ["lib.rs", "main.rs", "mod.rs"].map(|name| home.join(name));
    owners.iter().chain([&beside]).any(|owner| owner != file && declares(&read(owner), &module))
}

fn declares(text: &str, module: &str) -> bool {
    let ending = format!("mod {module};");
    text.lines().map(str::trim).any(|line| {
        line.strip_suffix(&ending).is_some_and(|before| {
            let before = before.trim();
            before.is_empty() || before == "pub" || before.starts_with("pub(")
        })
    })
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for path in entries(folder) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_file_that_nobody_declares_is_found() {
    let folder = std::env::temp_dir().join(format!("orphans-{}", std::process::id()));
    let source = folder.join("one/src");
    fs::create_dir_all(source.join("part")).expect("a folder");
    for (file, text) in [
        ("lib.rs", "//! x\npub(crate) mod part;\n#[cfg(test)]\nmod tests;\n"),
        ("tests.rs", "// mod lost;\n"),
        ("lost.rs", ""),
        ("part/mod.rs", "    mod inner;\n#[path = \"odd.rs\"]\nmod other;\n"),
        ("part/inner.rs", ""),
        ("part/odd.rs", ""),
        ("part/forgotten.rs", ""),
    ] {
        fs::write(source.join(file), text).expect("written");
    }
    let found = find(&folder);
    fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(found, ["lost.rs", "part/forgotten.rs"].map(|file| source.join(file)));
}
