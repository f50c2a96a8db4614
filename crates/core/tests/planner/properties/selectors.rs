//! Selectors: no text makes the parser panic, and matching follows the definition.
//!
//! `tests/corpus/selectors.json` holds selectors with their results for a set of labels, and seeds
//! the mutations. New surprises go there.

use std::collections::BTreeMap;

use pontoon_core::model::Text;
use pontoon_core::nodes::Selector;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

type Labels = BTreeMap<Text, Text>;

#[derive(Clone, Debug)]
enum Requirement {
    Exists,
    Absent,
    Is(&'static str),
    IsNot(&'static str),
    In(Vec<&'static str>),
    NotIn(Vec<&'static str>),
    Above(i64),
    Below(i64),
}

fn value() -> impl Strategy<Value = &'static str> {
    select(vec!["", "x", "y", "3", "in", "notin", "a.b-c_d", "007"])
}

fn key() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "in", "notin", "x.io/zone", "A-b_c.d"])
}

fn requirement() -> impl Strategy<Value = Requirement> {
    prop_oneof![
        Just(Requirement::Exists),
        Just(Requirement::Absent),
        value().prop_map(Requirement::Is),
        value().prop_map(Requirement::IsNot),
        vec(value(), 1..3).prop_map(Requirement::In),
        vec(value(), 1..3).prop_map(Requirement::NotIn),
        (0..9_i64).prop_map(Requirement::Above),
        (0..9_i64).prop_map(Requirement::Below),
    ]
}

/// The requirement as text, with `space` wherever spaces are allowed.
fn written(key: &str, requirement: &Requirement, space: &str) -> String {
    let s = space;
    match requirement {
        Requirement::Exists => format!("{s}{key}{s}"),
        Requirement::Absent => format!("{s}!{s}{key}{s}"),
        Requirement::Is(value) => format!("{s}{key}{s}={s}{value}{s}"),
        Requirement::IsNot(value) => format!("{s}{key}{s}!={s}{value}{s}"),
        Requirement::In(values) => format!("{s}{key} in{s}({s}{}{s}){s}", values.join(",")),
        Requirement::NotIn(values) => format!("{s}{key} notin ({s}{}{s}){s}", values.join(", ")),
        Requirement::Above(limit) => format!("{s}{key}{s}>{s}{limit}{s}"),
        Requirement::Below(limit) => format!("{s}{key}{s}<{s}{limit}{s}"),
    }
}

fn holds(value: Option<&str>, requirement: &Requirement) -> bool {
    let number = || value.and_then(|value| value.parse::<i64>().ok());
    match requirement {
        Requirement::Exists => value.is_some(),
        Requirement::Absent => value.is_none(),
        Requirement::Is(wanted) => value == Some(wanted),
        Requirement::IsNot(wanted) => value != Some(wanted),
        Requirement::In(all) => value.is_some_and(|value| all.contains(&value)),
        Requirement::NotIn(all) => value.is_none_or(|value| !all.contains(&value)),
        Requirement::Above(limit) => number().is_some_and(|number| number > *limit),
        Requirement::Below(limit) => number().is_some_and(|number| number < *limit),
    }
}

/// The labels of the corpus, and each selector with its meaning.
fn corpus() -> (Labels, Vec<(String, String)>) {
    let text = include_str!("../../corpus/selectors.json");
    let corpus: Value = serde_json::from_str(text).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let labels = corpus["labels"].as_object().unwrap().iter();
    let labels = labels.map(|(key, value)| (key.as_str().into(), text(value).as_str().into()));
    let cases = corpus["cases"].as_array().unwrap().iter();
    let cases = cases.map(|case| (text(&case["selector"]), text(&case["means"])));
    (labels.collect(), cases.collect())
}

/// A text of the corpus with some characters removed, changed or doubled.
fn spoiled() -> impl Strategy<Value = String> {
    let texts: Vec<String> = corpus().1.into_iter().map(|(text, _)| text).collect();
    let spoil = (
        any::<Index>(),
        0..3_u8,
        select("a7!=,()<> \t./-_\u{e9}\u{0}".chars().collect::<Vec<_>>()),
    );
    (select(texts), vec(spoil, 0..4)).prop_map(|(text, spoils): (String, Vec<_>)| {
        let mut text: Vec<char> = text.chars().collect();
        for (at, how, with) in spoils {
            let at = at.index(text.len() + 1);
            match how {
                0 if at < text.len() => drop(text.remove(at)),
                1 if at < text.len() => text[at] = with,
                _ => text.insert(at, with),
            }
        }
        text.into_iter().collect()
    })
}

#[test]
fn every_text_of_the_corpus_means_what_it_should() {
    let (labels, cases) = corpus();
    for (text, means) in cases {
        let meant = match Selector::parse(&text) {
            Ok(selector) if selector.accepts(&labels) => "accepts",
            Ok(_) => "refuses",
            Err(error) if error.to_string().is_empty() => "no words",
            Err(_) => "nothing",
        };
        assert_eq!(meant, means, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_selector_panic(
        text in prop_oneof![
            "[ab!=,()<> \\t\u{e9}\u{1F600}_./-]{0,24}|\\PC{0,40}",
            spoiled(),
        ],
        labels in btree_map("[a-c]", "[a-c0-9]{0,2}", 0..4),
    ) {
        let labels: Labels =
            labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
        match Selector::parse(&text) {
            Ok(selector) => drop(selector.accepts(&labels)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_selector_accepts_what_each_of_its_requirements_does(
        requirements in vec((key(), requirement()), 1..4),
        space in select(vec!["", " ", "\t \n"]),
        labels in btree_map(key(), value(), 0..6),
    ) {
        let parts = requirements.iter().map(|(key, one)| written(key, one, space));
        let text = parts.collect::<Vec<_>>().join(",");
        let selector = Selector::parse(&text);
        prop_assert!(selector.is_ok(), "{:?}: {:?}", text, selector);
        let shared = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let all = requirements.iter().all(|(key, one)| holds(labels.get(key).copied(), one));
        prop_assert_eq!(selector.unwrap().accepts(&shared), all, "{:?} on {:?}", text, labels);
    }
}
