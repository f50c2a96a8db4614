//! Definitions of other projects, from the team's reference data.

use std::path::PathBuf;

use serde_json::{Value, json};

/// The definitions in a file of the team's reference data, moved to another group so that all fit
/// on a single server. Without the file the test is skipped with a message; with `CI=true` it
/// fails.
pub(crate) fn shared(file: &str, prefix: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/crds").join(file);
    if !path.exists() {
        let missing = format!("SKIPPED: {} is not there", path.display());
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
        // Not `eprintln!`: the test harness captures its output and hides the line of a passing
        // test.
        let _ =
            std::io::Write::write_all(&mut std::io::stderr(), format!("{missing}\n").as_bytes());
        return None;
    }
    let mut definitions = documents_of(&std::fs::read_to_string(path).unwrap());
    for definition in &mut definitions {
        move_to_group(definition, prefix);
    }
    Some(definitions)
}

fn move_to_group(definition: &mut Value, prefix: &str) {
    let group = definition["spec"]["group"].as_str().unwrap();
    // Some groups need an approval from the Kubernetes project.
    let group = format!("{prefix}{}", group.replace(".k8s.io", ".io").replace("x-k8s.io", "x.io"));
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
    definition["metadata"] = json!({"name": format!("{plural}.{group}")});
    definition["spec"]["group"] = json!(group);
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.remove("conversion");
    }
    // Only the stored version: without conversion the other versions would be copies of it.
    if let Some(versions) = definition["spec"]["versions"].as_array_mut() {
        versions.retain(|version| version["storage"] == json!(true));
    }
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
}

pub(crate) fn documents_of(text: &str) -> Vec<Value> {
    let documents = text.split("\n---").filter(|document| document.contains("kind:"));
    documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}
