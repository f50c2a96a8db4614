//! Content negotiation: JSON only, as objects, Tables or metadata.

use crate::kubectl::Tables;
use crate::refusal::Refusal;

/// Representation of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object or list itself.
    Object,
    /// A `meta.k8s.io/v1` Table.
    Table(Tables),
    /// A `meta.k8s.io/v1` PartialObjectMetadata.
    Partial,
    /// A `meta.k8s.io/v1` PartialObjectMetadataList.
    PartialList,
    /// Aggregated discovery.
    Discovery,
}

/// The best supported form in an `Accept` header; `Object` without a header.
pub(crate) fn form(accept: Option<&str>) -> Result<Form, Refusal> {
    let Some(accept) = accept.filter(|text| !text.trim().is_empty()) else {
        return Ok(Form::Object);
    };
    let mut clauses: Vec<(&str, f32)> = accept.split(',').map(|c| (c.trim(), quality(c))).collect();
    clauses.sort_by(|a, b| b.1.total_cmp(&a.1));
    clauses.iter().find_map(|(clause, _)| of_clause(clause)).ok_or_else(|| {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        Refusal { details: Some(serde_json::json!({})), ..Refusal::not_acceptable(message) }
    })
}

fn parameters(clause: &str) -> impl Iterator<Item = (&str, &str)> {
    clause.split(';').skip(1).filter_map(|part| part.trim().split_once('='))
}

fn quality(clause: &str) -> f32 {
    let given = parameters(clause).find(|(name, _)| *name == "q");
    given.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0)
}

fn of_clause(clause: &str) -> Option<Form> {
    let kind = clause.split(';').next().unwrap_or_default().trim();
    if !matches!(kind, "application/json" | "application/*" | "*/*") {
        return None;
    }
    let of = |wanted: &str| parameters(clause).find(|(name, _)| *name == wanted).map(|(_, v)| v);
    let meta = of("g") == Some("meta.k8s.io") && of("v") == Some("v1");
    match of("as") {
        None => Some(Form::Object),
        Some("Table") if meta => Tables::served().map(Form::Table),
        Some("PartialObjectMetadata") if meta => Some(Form::Partial),
        Some("PartialObjectMetadataList") if meta => Some(Form::PartialList),
        Some("APIGroupDiscoveryList") if of("v") == Some("v2") => Some(Form::Discovery),
        Some(_) => None,
    }
}

/// Refuses content types other than JSON.
pub(crate) fn readable(content_type: Option<&str>) -> Result<(), Refusal> {
    let kind = content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if matches!(kind, "" | "application/json") {
        return Ok(());
    }
    // The real server's message, although fakekube reads neither YAML nor protobuf here: clients
    // fall back on JSON.
    Err(Refusal::unsupported_media(
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_acceptable_clause_counts() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(form(None), Ok(Form::Object));
        assert_eq!(form(Some(table)), Ok(Tables::served().map_or(Form::Object, Form::Table)));
        assert_eq!(form(Some(partial)), Ok(Form::Partial));
        assert_eq!(form(Some("application/json;as=Foo,*/*")), Ok(Form::Object));
        assert_eq!(form(Some("text/plain")).map_err(|r| r.code), Err(406));
    }
}
