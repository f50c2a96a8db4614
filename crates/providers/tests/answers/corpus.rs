//! The committed answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::exchange::Answer;

/// All answers, by file name.
pub fn answers() -> BTreeMap<String, Answer> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/digitalocean");
    let files = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.unwrap().path());
    let answers = files.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        let answer = parse(&bytes).unwrap_or_else(|| panic!("{name} is no answer"));
        (name, answer)
    });
    answers.collect()
}

/// The answer in the file `name`.
pub fn answer(name: &str) -> Answer {
    answers().remove(name).unwrap_or_else(|| panic!("no {name} in the corpus"))
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let (status, mut rest) = line(bytes)?;
    let status = status.parse().ok()?;
    let mut headers = vec![];
    loop {
        let (header, after) = line(rest)?;
        rest = after;
        match header.split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.as_bytes().to_vec())),
            None if header.is_empty() => break,
            None => return None,
        }
    }
    Some(Answer { status, headers, body: rest.to_vec() })
}

fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}
