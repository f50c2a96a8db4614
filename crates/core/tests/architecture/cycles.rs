//! Finds circles of imports among the modules of a folder.
//!
//! Works on text, without a parser of Rust. A module imports another one if a path in one of its files leads there:
//! a path from `crate`, `self` or `super`, in a `use` or in the code, spelled out or through a `use` of a module on
//! the way. Calls of methods are not seen, and tests at the end of a file do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::orphans::rust_files;

/// The names of a module and of the modules around it, from the crate's root.
type Module = Vec<String>;

/// The modules of a crate.
pub struct Modules {
    /// The code of each file, as words and punctuation.
    code: BTreeMap<Module, Vec<String>>,
    /// Names that a module imports, and where they lead.
    imports: BTreeMap<(Module, String), Module>,
}

/// Modules of a folder, and the modules of the folder that each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

impl Modules {
    /// Reads a folder `src`.
    pub fn read(source: &Path) -> Self {
        let module = |file: &Path| {
            let part = file.strip_prefix(source).expect("within").with_extension("");
            part.iter().map(|name| name.to_string_lossy().into_owned()).collect()
        };
        let text = |file: &Path| std::fs::read_to_string(file).expect("a source file");
        Self::of(rust_files(source).iter().map(|file| (module(file), text(file))))
    }

    /// Takes the text of each file.
    fn of(files: impl Iterator<Item = (Module, String)>) -> Self {
        let mut code = BTreeMap::new();
        for (mut module, text) in files {
            module.pop_if(|name| ["lib", "main", "mod"].contains(&name.as_str()));
            code.insert(module, words(&text));
        }
        let mut modules = Self { code, imports: BTreeMap::new() };
        let imports: Vec<_> = modules.code.keys().flat_map(|one| modules.uses(one)).collect();
        modules.imports.extend(imports);
        modules
    }

    /// The folders of the crate below its root.
    pub fn folders(&self) -> BTreeSet<&[String]> {
        let around = self.code.keys().filter_map(|module| module.split_last());
        around.map(|(_, folder)| folder).filter(|folder| !folder.is_empty()).collect()
    }

    /// The imports among the modules of a folder that are part of a circle, or between two circles.
    pub fn circles(&self, folder: &[String]) -> Vec<String> {
        let mut imports = self.among(folder);
        loop {
            let imported: BTreeSet<_> = imports.values().flatten().cloned().collect();
            let all: BTreeSet<_> = imports.keys().cloned().collect();
            let before = imports.len();
            imports.retain(|name, _| imported.contains(name));
            imports.values_mut().for_each(|others| others.retain(|other| all.contains(other)));
            imports.retain(|_, others| !others.is_empty());
            if imports.len() == before {
                break;
            }
        }
        let told = |(name, others): (String, BTreeSet<String>)| {
            let others: Vec<_> = others.into_iter().collect();
            format!("{}: {name} imports {}", folder.join("/"), others.join(", "))
        };
        imports.into_iter().map(told).collect()
    }

    /// The imports among the modules of a folder.
    fn among(&self, folder: &[String]) -> Imports {
        let mut imports = Imports::new();
        for module in self.code.keys() {
            let Some(name) = below(module, folder) else { continue };
            let reached = self.paths(module).into_iter().flat_map(|path| self.resolve(path));
            let others = reached.filter_map(|other| below(&other, folder).cloned());
            let others: Vec<_> = others.filter(|other| other != name).collect();
            imports.entry(name.clone()).or_default().extend(others);
        }
        imports
    }

    /// The paths in a file from `crate`, `self` or `super`, from the crate's root.
    fn paths(&self, module: &[String]) -> Vec<Module> {
        let code = &self.code[module];
        let is_first = |at: usize| at == 0 || code[at - 1] != "::";
        let starts = (0..code.len()).filter(|at| {
            let leads = matches!(code[*at].as_str(), "crate" | "self" | "super");
            leads && is_first(*at) && code.get(at + 1).is_some_and(|next| next == "::")
        });
        let paths = starts.flat_map(|at| tree(code, at).0);
        paths.filter_map(|(path, _)| self.absolute(module, path)).collect()
    }

    /// The names that a file imports, and where they lead.
    fn uses(&self, module: &[String]) -> Vec<((Module, String), Module)> {
        let code = &self.code[module];
        let starts = (0..code.len()).filter(|at| code[*at] == "use");
        let leaves = starts.flat_map(|at| tree(code, at + 1).0);
        let named = leaves.filter_map(|(path, name)| {
            Some(((module.to_vec(), name), self.absolute(module, path)?))
        });
        named.collect()
    }

    /// A path from the crate's root, unless the path leads to another crate.
    fn absolute(&self, module: &[String], path: Module) -> Option<Module> {
        let mut from = module.to_vec();
        let mut rest = path.into_iter().peekable();
        match rest.peek()?.as_str() {
            "crate" => from.clear(),
            "self" | "super" => {}
            child => {
                from.push(child.to_owned());
                self.code.get(&from)?;
                from.pop();
            }
        }
        while let Some(step) = rest.next_if(|name| ["crate", "self", "super"].contains(&&**name)) {
            if step == "super" {
                from.pop();
            }
        }
        from.extend(rest);
        Some(from)
    }

    /// The modules that a path leads to: the one that the path spells, and those that imports on the way add.
    fn resolve(&self, mut path: Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        loop {
            let known = (0..=path.len()).rev().find(|end| self.code.contains_key(&path[..*end]));
            let (module, rest) = path.split_at(known.unwrap_or_default());
            let imported = rest.split_first().and_then(|(name, rest)| {
                let target = self.imports.get(&(module.to_vec(), name.clone()))?;
                Some([target, rest].concat())
            });
            let is_new = reached.insert(module.to_vec());
            match imported.filter(|_| is_new) {
                Some(target) => path = target,
                None => return reached,
            }
        }
    }
}

/// The module of a folder that a module is, or is in.
fn below<'m>(module: &'m [String], folder: &[String]) -> Option<&'m String> {
    module.strip_prefix(folder)?.first()
}

/// The paths of a `use` tree or of a path in the code, each with the name that is imported, and the place after them.
fn tree(code: &[String], mut at: usize) -> (Vec<(Module, String)>, usize) {
    let word = |at: usize| code.get(at).map_or("", String::as_str);
    let mut path = vec![];
    loop {
        if word(at) == "{" {
            return branches(code, &path, at + 1);
        }
        path.push(word(at).to_owned());
        if word(at + 1) != "::" {
            break;
        }
        at += 2;
    }
    let own = word(at).to_owned();
    match word(at + 1) {
        "as" => (vec![(path, word(at + 2).to_owned())], at + 3),
        _ => (vec![(path, own)], at + 1),
    }
}

/// The paths between braces, after the path before the braces.
fn branches(code: &[String], path: &[String], mut at: usize) -> (Vec<(Module, String)>, usize) {
    let word = |at: usize| code.get(at).map_or("", String::as_str);
    let mut paths = vec![];
    while !["}", ""].contains(&word(at)) {
        let (inner, after) = tree(code, at);
        for (rest, name) in inner {
            // `use a::{self}` imports `a`.
            match (rest.as_slice(), path.last()) {
                ([only], Some(last)) if only == "self" => paths.push((path.to_vec(), last.clone())),
                _ => paths.push(([path, &rest].concat(), name)),
            }
        }
        at = after + usize::from(word(after) == ",");
    }
    (paths, at + 1)
}

/// Words and punctuation of the code, without comments, texts and the tests at the end.
fn words(text: &str) -> Vec<String> {
    let mut rest = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut words = vec![];
    while let Some(first) = rest.chars().next() {
        let (word, after) = rest.split_at(length(first, rest));
        if !word.starts_with(['"', '\'']) && !word.starts_with("//") && !word.trim().is_empty() {
            words.push(word.to_owned());
        }
        rest = after;
    }
    words
}

/// The length of the first word, punctuation, comment or text.
fn length(first: char, rest: &str) -> usize {
    let is_named = |one: char| one.is_alphanumeric() || one == '_';
    match first {
        '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
        '"' => quoted(rest, '"').unwrap_or(rest.len()),
        // A character, or the start of a lifetime.
        '\'' => quoted(rest, '\'').filter(|end| rest[..*end].chars().count() < 5).unwrap_or(1),
        ':' if rest.starts_with("::") => 2,
        _ if is_named(first) => rest.find(|one| !is_named(one)).unwrap_or(rest.len()),
        _ => first.len_utf8(),
    }
}

/// The length of a text between quotes.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = true;
    let end = rest.char_indices().find(|(_, one)| {
        let ends = *one == quote && !escaped;
        escaped = *one == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + quote.len_utf8())
}

#[test]
fn a_circle_of_imports_is_found() {
    let files = [
        ("lib", "mod part; use crate::part::one::two::Three;"),
        ("part/mod", "mod ring; pub use low::Low as Deep; mod a; mod b; mod c; mod low; mod d;"),
        // A circle of three: by a tree, by a path in the code, and through an import of the folder.
        ("part/a", "use super::{low::Low, b::{self, Other as _}};"),
        ("part/b/mod", "fn f<'a>(x: &'a str) -> char { super::c::g(\"super::a\"); '\"' }"),
        ("part/c", "// use super::b;\nuse crate::part::{Thing, A as B};"),
        ("part/d", "use super::a; use self::own::X;\n#[cfg(test)]\nmod tests { use super::a; }"),
        (
            "part/low",
            "use std::low::a; use crate::Time;\n#[cfg(test)]\nmod tests { super::a::x() }",
        ),
    ];
    let found = |through: &str| {
        let with = |(file, text): (&str, &str)| {
            let text = text.replace("mod ring;", through);
            (file.split('/').map(ToOwned::to_owned).collect(), text)
        };
        let modules = Modules::of(files.into_iter().map(with));
        let circles = modules.folders().into_iter().flat_map(|folder| modules.circles(folder));
        circles.collect::<Vec<_>>()
    };
    assert!(found("").is_empty());
    let circle = ["part: a imports b", "part: b imports c", "part: c imports a"];
    assert_eq!(found("use a::Thing;"), circle);
}
