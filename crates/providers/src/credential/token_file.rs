//! A bearer token in a file, such as a mounted Secret. The file is read again every few seconds, and
//! before the request that follows a refusal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind as IoError, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;

use super::{Credential, Line, Looked, REMEMBERED, Secret};
use crate::access::unusable;
use crate::error::Result;
use crate::vendor::ConfigError;

/// The longest file that is read. Tokens are far shorter.
const LONGEST_FILE: u64 = 64 * 1024;

/// A bearer token in a file.
///
/// A file that is gone, empty or unreadable leaves the last token in use: the file may be in the
/// middle of a replacement.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    token: Secret,
    /// Earlier tokens, so that an answer that echoes one shows none.
    former: VecDeque<Secret>,
    /// The provider refused the token.
    refused: bool,
    /// The token has changed since the last look.
    renewed: bool,
}

/// Why a file has no token.
enum Problem {
    Absent(String),
    Unfit(&'static str),
}

impl TokenFile {
    /// Opens the file that a variable names.
    ///
    /// # Errors
    /// The file has no usable token.
    pub fn open(variable: &'static str, path: PathBuf) -> Result<Self, ConfigError> {
        let token = read(&path).map_err(|problem| match problem {
            Problem::Absent(problem) => {
                ConfigError::NoToken { variable, path: path.display().to_string(), problem }
            }
            Problem::Unfit(problem) => unusable(variable, &format!("names a file that {problem}")),
        })?;
        let state = State { token, former: VecDeque::new(), refused: false, renewed: false };
        Ok(Self { path, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a token from the file, if the file has another one.
    fn take(&mut self, path: &Path) -> Result<(), Problem> {
        let token = read(path)?;
        if token != self.token {
            self.former.push_back(std::mem::replace(&mut self.token, token));
            if self.former.len() > REMEMBERED {
                self.former.pop_front();
            }
            self.renewed = true;
        }
        Ok(())
    }
}

#[async_trait]
impl Credential for TokenFile {
    async fn authorise(&self, request: &mut Request<Bytes>, _: &Line<'_>) -> Result<()> {
        let mut state = self.state();
        if std::mem::take(&mut state.refused) {
            // A file without a token is reported by the next look.
            drop(state.take(&self.path));
        }
        state.token.bear(request)
    }

    fn strike_from(&self, text: &str) -> String {
        let state = self.state();
        let struck = state.token.strike_from(text);
        state.former.iter().fold(struck, |text, token| token.strike_from(&text))
    }

    fn refused(&self) {
        self.state().refused = true;
    }

    fn look(&self) -> Looked {
        let mut state = self.state();
        let found = state.take(&self.path);
        match (std::mem::take(&mut state.renewed), found) {
            (true, _) => Looked::Renewed,
            (false, Ok(())) => Looked::Same,
            (false, Err(problem)) => {
                let problem = match &problem {
                    Problem::Absent(problem) => problem,
                    Problem::Unfit(problem) => *problem,
                };
                Looked::Lost(format!("the file {} {problem}", self.path.display()))
            }
        }
    }
}

/// The token in a file, without spaces and line ends around it. No message quotes the file.
fn read(path: &Path) -> Result<Secret, Problem> {
    let absent = |error: std::io::Error| match error.kind() {
        IoError::NotFound => Problem::Absent("does not exist".to_owned()),
        _ => Problem::Absent(format!("cannot be read: {error}")),
    };
    // A pipe would never end.
    if !path.metadata().map_err(absent)?.is_file() {
        return Err(Problem::Absent("is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(absent)?;
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(absent)?;
    let text = bytes.trim_ascii();
    if text.is_empty() {
        return Err(Problem::Absent("is empty".to_owned()));
    }
    let unfit = Problem::Unfit("has spaces, control or non-ASCII characters in it");
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(Problem::Unfit("is too long for a token"));
    }
    let text = std::str::from_utf8(text).ok().map(str::to_owned);
    text.and_then(Secret::new).ok_or(unfit)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;
    use crate::VENDORS;
    use crate::contract::script::{Script, with_variables};
    use crate::vendor::{TokenVariables, Vendor, doubled};

    const VARIABLE: &str = "TOKEN_FILE";

    fn file(text: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn opened(path: &Path) -> Result<TokenFile, ConfigError> {
        TokenFile::open(VARIABLE, path.to_owned())
    }

    #[test]
    fn another_token_in_the_file_is_told_once_and_neither_is_shown() {
        let (_folder, path) = file("canary-1\n");
        let token = opened(&path).unwrap();
        assert_eq!(token.look(), Looked::Same);
        std::fs::write(&path, " canary-2 ").unwrap();
        assert_eq!((token.look(), token.look()), (Looked::Renewed, Looked::Same));
        assert_eq!(token.strike_from("canary-1 canary-2"), "[token] [token]");
        assert!(!format!("{token:?}").contains("canary"), "{token:?}");
    }

    #[test]
    fn a_file_that_is_gone_or_unfit_leaves_the_last_token() {
        let (_folder, path) = file("canary-1");
        let token = opened(&path).unwrap();
        for (text, words) in [("", "is empty"), (" \n", "is empty"), ("can ary", "has spaces")] {
            std::fs::write(&path, text).unwrap();
            let Looked::Lost(problem) = token.look() else { panic!("{text:?}") };
            assert!(problem.contains(words) && !problem.contains("ary"), "{problem}");
        }
        std::fs::remove_file(&path).unwrap();
        let Looked::Lost(problem) = token.look() else { panic!() };
        assert!(problem.ends_with("token does not exist"), "{problem}");
        assert_eq!(token.strike_from("canary-1"), "[token]");
        std::fs::write(&path, "canary-1").unwrap();
        assert_eq!(token.look(), Looked::Same);
    }

    /// As the kubelet replaces a mounted Secret: the file is a link through a folder that is swapped.
    #[test]
    fn a_file_that_is_replaced_through_a_link_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (version, text) in [("v1", "canary-1"), ("v2", "canary-2")] {
            std::fs::create_dir(at(version)).unwrap();
            std::fs::write(at(version).join("token"), text).unwrap();
        }
        symlink("v1", at("..data")).unwrap();
        symlink("..data/token", at("token")).unwrap();
        let token = opened(&at("token")).unwrap();
        symlink("v2", at("..data_tmp")).unwrap();
        std::fs::rename(at("..data_tmp"), at("..data")).unwrap();
        assert_eq!(token.look(), Looked::Renewed);
    }

    #[test]
    fn a_file_without_a_token_is_named_with_its_problem_and_not_quoted() {
        let (folder, path) = file("");
        let missing = opened(&folder.path().join("none")).unwrap_err();
        let (file, name) = (folder.path().join("none"), VARIABLE);
        let words = format!("the file {}, which {name} names, does not exist", file.display());
        assert_eq!(missing.to_string(), words);
        assert!(opened(&path).unwrap_err().to_string().ends_with("is empty"));
        let a_folder = opened(folder.path()).unwrap_err();
        assert!(a_folder.to_string().ends_with("is not a file"), "{a_folder}");
        for bytes in [&b"canary key"[..], b"canary\nkey", b"can\xffary", &[b'c'; 70_000]] {
            std::fs::write(&path, bytes).unwrap();
            let error = opened(&path).unwrap_err();
            assert!(matches!(error, ConfigError::Unusable { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("can"), "{error:?}");
        }
    }

    fn tokens() -> impl Iterator<Item = (&'static Vendor, TokenVariables)> {
        VENDORS.iter().filter_map(|vendor| Some((*vendor, vendor.credential.token()?)))
    }

    #[test]
    fn every_vendor_with_a_token_takes_it_from_a_file_too_and_refuses_both() {
        let (_folder, path) = file("canary");
        let path = path.to_str().unwrap();
        assert_eq!(tokens().count(), 3);
        for (vendor, token) in tokens() {
            assert_eq!(token.file, format!("{}_FILE", token.value));
            let open = |variables: &[(&str, &str)]| {
                with_variables(variables, |settings| {
                    assert_eq!(doubled(settings).len(), usize::from(variables.len() > 1));
                    (vendor.open)(settings, Script::default().transport())
                })
            };
            let account = open(&[(token.file, path)]).unwrap();
            assert_eq!(account.credential.strike_from("a canary"), "a [token]");
            let error = open(&[(token.file, path), (token.value, "canary")]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{} and {} are both set: keep one", token.file, token.value)
            );
            let error = open(&[(token.file, "/nowhere/at-all")]).unwrap_err();
            assert!(matches!(error, ConfigError::NoToken { .. }), "{error:?}");
        }
    }
}
