//! The source files of a crate: what ships, and what is for tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::graph::workspace;
use super::orphans::rust_files;

/// The source files of a crate, each with its path below `crates`.
fn files(package: &str) -> impl Iterator<Item = (PathBuf, String)> {
    let crates = workspace().join("crates");
    rust_files(&crates.join(package).join("src")).into_iter().map(move |file| {
        let part = file.strip_prefix(&crates).expect("within").to_string_lossy().into_owned();
        (file, part)
    })
}

/// Whether a file is for tests: in a folder `tests`, or with a name that ends in `tests.rs`.
pub fn is_test(part: &Path) -> bool {
    let in_folder = part.components().any(|one| one.as_os_str() == "tests");
    in_folder || part.to_string_lossy().ends_with("tests.rs")
}

/// The lines in question of a crate, by file, in small letters. Tests and skipped files are left
/// out.
pub fn shipped_lines(
    package: &str,
    skipped: impl Fn(&str) -> bool,
    in_question: impl Fn(&str) -> bool,
) -> BTreeMap<String, Vec<String>> {
    let in_question = |line: &str| in_question(&line.to_lowercase());
    let mut found = written_lines(package, skipped, in_question);
    found.values_mut().flatten().for_each(|line| *line = line.to_lowercase());
    found
}

/// The same as written, with capital letters.
pub fn written_lines(
    package: &str,
    skipped: impl Fn(&str) -> bool,
    in_question: impl Fn(&str) -> bool,
) -> BTreeMap<String, Vec<String>> {
    let ships = |part: &str| !is_test(Path::new(part)) && !skipped(part);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, part) in files(package).filter(|(_, part)| ships(part)) {
        let text = shipped(&file);
        let lines = text.lines().filter(|line| in_question(line));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        if !lines.is_empty() {
            found.insert(part, lines);
        }
    }
    found
}

/// The words in question of a crate, each with its file, in code, texts and comments. Tests are left
/// out.
pub fn shipped_words(package: &str, in_question: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = vec![];
    for (file, part) in files(package).filter(|(_, part)| !is_test(Path::new(part))) {
        // The letter of an escape is no part of a word.
        let text = shipped(&file).replace("\\n", " ").replace("\\t", " ");
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| in_question(word));
        found.extend(words.map(|word| format!("{part}: {word}")));
    }
    found
}

/// The part of a file that ships.
fn shipped(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file");
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// The modules with files of their own that a crate compiles for tests only: `file: module`.
pub fn test_modules(package: &str) -> Vec<String> {
    let mut found = vec![];
    for (file, part) in files(package) {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
        let modules = declared.filter_map(|pair| pair[1].strip_suffix(';')?.split_once("mod "));
        found.extend(modules.map(|(_, module)| format!("{part}: {module}")));
    }
    found
}
