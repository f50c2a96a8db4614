//! `POST .../dns_records/batch`: all changes or none, in the order deletes, patches, puts, posts.

use serde_json::{Map, Value, json};

use super::Answer;
use super::draft::Draft;
use super::envelope::{Refusal, single};
use super::ids::record_number;
use super::records::show;
use crate::asked::AskedRecords;
use crate::call::Call;
use crate::request_context::Turn;

const STEPS: [&str; 4] = ["deletes", "patches", "puts", "posts"];

/// Executes a batch. Lists that are absent in the request are answered as empty (not verified).
pub(super) fn run(turn: &mut Turn<'_>, zone: &str, body: &Map<String, Value>) -> Answer {
    let mut asked = Vec::new();
    for step in STEPS {
        for item in items(body, step)? {
            asked.push((step, item));
        }
    }
    let most = turn.knobs.zone_plan.batch();
    if asked.is_empty() || asked.len() > most {
        // Not verified.
        let words = format!("A batch has between 1 and {most} changes.");
        return Err(Refusal::bad(9207, &words));
    }
    let mut draft = Draft::of(turn, zone)?;
    let mut result = json!({"deletes": [], "patches": [], "puts": [], "posts": []});
    for (step, item) in asked {
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        let record = match step {
            "deletes" => draft.delete(id),
            "patches" => draft.edit(id, item),
            "puts" => draft.overwrite(id, item),
            _ => draft.create(item),
        }?;
        let shown = show(turn, &draft.zone, &record);
        if let Some(done) = result[step].as_array_mut() {
            done.push(shown);
        }
    }
    draft.commit(turn);
    Ok(single(&result))
}

/// The records of a batch, as far as the request tells.
pub(super) fn asked(call: &Call) -> AskedRecords {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let items = || STEPS.iter().rev().flat_map(|step| body[step].as_array().into_iter().flatten());
    let said = |key: &str| items().find_map(|item| item[key].as_str()).map(str::to_owned);
    AskedRecords {
        zone: call.segments.get(3).cloned().unwrap_or_default(),
        name: said("name"),
        kind: said("type"),
        ids: items().filter_map(|item| record_number(item["id"].as_str()?)).collect(),
    }
}

fn items<'a>(
    body: &'a Map<String, Value>,
    step: &str,
) -> Result<Vec<&'a Map<String, Value>>, Refusal> {
    let bad = || Refusal::bad(9207, &format!("{step} must be a list of objects."));
    match body.get(step) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_object().ok_or_else(bad)).collect()
        }
        Some(_) => Err(bad()),
    }
}
