//! Marks: annotations and labels on nodes, which tell others that a node serves addresses.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

use crate::model::{Family, Text};

/// A mark. Several objects may share a mark; the value then covers the addresses of all of them.
#[derive(Debug)]
pub struct Mark {
    /// Where the mark is written.
    pub place: MarkPlace,
    /// The key of the annotation or label.
    pub key: &'static str,
    /// Meaning of the value.
    pub tells: Tells,
}

/// Where a mark is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkPlace {
    /// An annotation.
    Annotation,
    /// A label.
    Label,
}

/// Meaning of a mark's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// The served addresses of a family, separated by commas.
    Addresses(Family),
    /// A fixed text, as long as the node serves an address of any family.
    Serving(&'static str),
    /// A fixed text, as long as pods that relied on an address are to be evicted from the node. The
    /// mark outlives a crash between the withdrawal of other marks and the evictions.
    Evicting(&'static str),
    /// A fixed text, as long as the node's machine may lack its own address because of us.
    OwesEgress(&'static str),
}

/// The marks of a node, with their values.
pub type Marks = BTreeMap<&'static Mark, Text>;

impl Mark {
    /// Families of the addresses that the mark is about.
    pub fn families(&self) -> &'static [Family] {
        match self.tells {
            Tells::Addresses(Family::V4) => &[Family::V4],
            Tells::Addresses(Family::V6) => &[Family::V6],
            Tells::Serving(_) | Tells::Evicting(_) | Tells::OwesEgress(_) => &Family::ALL,
        }
    }

    /// The value for a node that serves these addresses; `None` for no mark.
    pub fn value(&self, serves: &[IpAddr]) -> Option<Text> {
        if serves.is_empty() {
            return None;
        }
        Some(match self.tells {
            Tells::Addresses(_) => {
                serves.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into()
            }
            Tells::Serving(text) | Tells::Evicting(text) | Tells::OwesEgress(text) => text.into(),
        })
    }

    /// Whether a node's value is the one for these addresses. Compares without building the value.
    pub fn is_right(&self, current: Option<&Text>, serves: &[IpAddr]) -> bool {
        match (self.text(), current) {
            (_, None) => serves.is_empty(),
            (_, Some(_)) if serves.is_empty() => false,
            (Some(text), Some(current)) => **current == *text,
            // An IPv4 address has one spelling.
            (None, Some(current)) if let [IpAddr::V4(ip)] = serves => current.parse() == Ok(*ip),
            (None, Some(current)) => {
                let mut rest = Rest(current);
                let comma = |at: usize| if at == 0 { "" } else { "," };
                let mut all = serves.iter().enumerate();
                all.all(|(at, ip)| write!(rest, "{}{ip}", comma(at)).is_ok()) && rest.0.is_empty()
            }
        }
    }

    /// The fixed text of the value, if it is one.
    pub fn text(&self) -> Option<&'static str> {
        match self.tells {
            Tells::Addresses(_) => None,
            Tells::Serving(text) | Tells::Evicting(text) | Tells::OwesEgress(text) => Some(text),
        }
    }

    /// Whether the value is a fixed text.
    pub fn is_fixed(&self) -> bool {
        self.text().is_some()
    }

    /// The addresses that a value names. A fixed text names none.
    pub fn named(&self, value: &str) -> Vec<IpAddr> {
        match self.tells {
            Tells::Addresses(_) => {
                value.split(',').filter_map(|ip| ip.trim().parse().ok()).collect()
            }
            Tells::Serving(_) | Tells::Evicting(_) | Tells::OwesEgress(_) => Vec::new(),
        }
    }
}

/// The part of a text that was not written yet. A write fails if the text does not go on like it.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, next: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(next).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            MarkPlace::Annotation => "annotation",
            MarkPlace::Label => "label",
        };
        write!(f, "{place} {}", self.key)
    }
}

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Mark {}

impl PartialOrd for Mark {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Mark {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.place, self.key).cmp(&(other.place, other.key))
    }
}
