//! Finds links in our pages that lead nowhere: to a missing file, or to a heading that is not on
//! the page.

use std::fs;
use std::path::{Path, PathBuf};

use super::orphans::entries;

/// Folders without pages of ours.
const OTHERS: &[&str] = &["target", ".git"];

/// The dead links of every page in a folder, as `page: link`.
pub fn find(root: &Path) -> Vec<String> {
    pages(root).iter().flat_map(|page| dead(page)).collect()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in entries(folder) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if entry.is_dir() && !OTHERS.contains(&&*name) {
            found.extend(pages(&entry));
        } else if is_page(&entry) {
            found.push(entry);
        }
    }
    found
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

fn dead(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let links = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let own = links.filter(|link| !link.contains("://"));
    own.filter(|link| !leads_somewhere(page, link))
        .map(|link| format!("{}: {link}", page.display()))
        .collect()
}

fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => page.to_owned(),
        path => page.parent().unwrap().join(path),
    };
    target.exists() && (anchor.is_empty() || !is_page(&target) || has_heading(&target, anchor))
}

/// Whether a heading of the page has this anchor, as GitHub makes anchors.
fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| line.trim_start_matches('#').trim()).any(|heading| {
        let kept = heading.chars().filter(|one| one.is_alphanumeric() || "-_ ".contains(*one));
        let made = kept.collect::<String>().to_lowercase().replace(' ', "-");
        made == anchor
    })
}
