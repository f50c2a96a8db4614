//! Licences allowed in shipped code: those that only require attribution.

/// The same list as in `deny.toml`.
pub const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression allows a choice from the list. The old form `MIT/Apache-2.0` means
/// `OR`. Unparsable expressions are not allowed.
pub fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest).is_some_and(|allowed| allowed && rest.is_empty())
}

fn any(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = all(rest)?;
    while let ["OR", tail @ ..] = *rest {
        *rest = tail;
        allowed |= all(rest)?;
    }
    Some(allowed)
}

fn all(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(rest)?;
    while let ["AND", tail @ ..] = *rest {
        *rest = tail;
        allowed &= one(rest)?;
    }
    Some(allowed)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let inside = any(rest)?;
            let [")", tail @ ..] = *rest else { return None };
            *rest = tail;
            Some(inside)
        }
        [licence, "WITH", exception, tail @ ..] => {
            *rest = tail;
            Some(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
        }
        [licence, tail @ ..] if !["OR", "AND", "WITH", ")"].contains(licence) => {
            *rest = tail;
            Some(ALLOWED.contains(licence))
        }
        _ => None,
    }
}

#[test]
fn an_expression_is_allowed_if_it_leaves_an_allowed_choice() {
    for allowed in [
        "MIT",
        "MIT OR GPL-3.0-only",
        "GPL-3.0-only OR MIT",
        "MIT/Apache-2.0",
        "Apache-2.0 AND ISC",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        "GPL-2.0-only AND GPL-3.0-only OR MIT",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR Apache-2.0) AND GPL-3.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MIT OR",
        "(MIT",
        "MIT MIT",
        "AND",
    ] {
        assert!(!is_allowed(refused), "{refused}");
    }
}
