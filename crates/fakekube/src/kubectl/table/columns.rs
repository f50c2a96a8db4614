//! The columns of the built-in kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::description::{core_description, description};
use super::age::age_of;
use super::{Row, budget, event, node, pod, workload};
use crate::registry::Kind;

/// Columns and row function of a built-in kind.
pub(super) struct BuiltIn {
    group: &'static str,
    kind: &'static str,
    pub(super) columns: &'static [BuiltInColumn],
    pub(super) row: fn(&Value, Timestamp) -> Row,
}

/// A column of a built-in kind.
pub(super) struct BuiltInColumn {
    name: &'static str,
    r#type: &'static str,
    format: &'static str,
    priority: i64,
    description: Description,
}

enum Description {
    Text(&'static str),
    /// The description of a field of the kind.
    Field(&'static [&'static str]),
    /// The description of a field of the core Event. All events are printed like the core Event.
    EventField(&'static [&'static str]),
}

use Description::{EventField, Field, Text};

impl BuiltInColumn {
    /// The column as an entry of a Table.
    pub(super) fn definition(&self, kind: &Kind) -> Value {
        let description = match &self.description {
            Text(text) => (*text).to_owned(),
            Field(path) => description(kind, path).unwrap_or_default(),
            EventField(path) => core_description("Event", path).unwrap_or_default(),
        };
        json!({
            "name": self.name, "type": self.r#type, "format": self.format,
            "description": description, "priority": self.priority,
        })
    }
}

const fn column(name: &'static str, description: Description) -> BuiltInColumn {
    BuiltInColumn { name, r#type: "string", format: "", priority: 0, description }
}

const fn wide(name: &'static str, description: Description) -> BuiltInColumn {
    BuiltInColumn { priority: 1, ..column(name, description) }
}

const fn number(name: &'static str, description: Description) -> BuiltInColumn {
    BuiltInColumn { r#type: "integer", ..column(name, description) }
}

const NAME: BuiltInColumn = BuiltInColumn {
    name: "Name",
    r#type: "string",
    format: "name",
    priority: 0,
    description: Field(&["metadata", "name"]),
};
const AGE: BuiltInColumn = BuiltInColumn {
    name: "Age",
    r#type: "string",
    format: "",
    priority: 0,
    description: Field(&["metadata", "creationTimestamp"]),
};

/// The printer of a built-in kind; `None` for a custom kind.
pub(super) fn of(kind: &Kind) -> Option<&'static BuiltIn> {
    let built_in = kind.built_in().then_some(PRINTERS)?;
    built_in.iter().find(|printer| printer.group == kind.group && printer.kind == kind.kind)
}

static PRINTERS: &[BuiltIn] = &[
    BuiltIn { group: "", kind: "Node", columns: NODE, row: node::row },
    BuiltIn { group: "", kind: "Pod", columns: POD, row: pod::row },
    BuiltIn { group: "", kind: "Event", columns: EVENT, row: event::row },
    BuiltIn { group: "events.k8s.io", kind: "Event", columns: EVENT, row: event::row },
    BuiltIn {
        group: "",
        kind: "Namespace",
        columns: &[NAME, column("Status", Text("The status of the namespace")), AGE],
        row: |object, now| row(object, vec![text(&object["status"]["phase"])], now),
    },
    BuiltIn {
        group: "",
        kind: "ConfigMap",
        columns: &[NAME, column("Data", Field(&["data"])), AGE],
        row: |object, now| row(object, vec![count(object, &["data", "binaryData"])], now),
    },
    BuiltIn {
        group: "",
        kind: "Secret",
        columns: &[NAME, column("Type", Field(&["type"])), column("Data", Field(&["data"])), AGE],
        row: |object, now| row(object, vec![text(&object["type"]), count(object, &["data"])], now),
    },
    BuiltIn {
        group: "",
        kind: "ServiceAccount",
        columns: &[NAME, AGE],
        row: |object, now| row(object, Vec::new(), now),
    },
    BuiltIn { group: "apps", kind: "DaemonSet", columns: DAEMON, row: workload::daemon_row },
    BuiltIn {
        group: "apps",
        kind: "Deployment",
        columns: DEPLOYMENT,
        row: workload::deployment_row,
    },
    BuiltIn { group: "apps", kind: "ReplicaSet", columns: REPLICAS, row: workload::replicas_row },
    BuiltIn { group: "apps", kind: "StatefulSet", columns: STATEFUL, row: workload::stateful_row },
    BuiltIn { group: "policy", kind: "PodDisruptionBudget", columns: BUDGET, row: budget::row },
    BuiltIn {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: &[NAME, column("Holder", Field(&["spec", "holderIdentity"])), AGE],
        row: |object, now| row(object, vec![text(&object["spec"]["holderIdentity"])], now),
    },
    BuiltIn {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        columns: &[
            NAME,
            BuiltInColumn {
                r#type: "date",
                ..column("Created At", Field(&["metadata", "creationTimestamp"]))
            },
        ],
        row: |object, _| {
            let meta = &object["metadata"];
            vec![meta["name"].clone(), meta["creationTimestamp"].clone()].into()
        },
    },
];

static NODE: &[BuiltInColumn] = &[
    NAME,
    column("Status", Text("The status of the node")),
    column("Roles", Text("The roles of the node")),
    AGE,
    column("Version", Field(&["status", "nodeInfo", "kubeletVersion"])),
    wide("Internal-IP", Field(&["status", "addresses"])),
    wide("External-IP", Field(&["status", "addresses"])),
    wide("OS-Image", Field(&["status", "nodeInfo", "osImage"])),
    wide("Kernel-Version", Field(&["status", "nodeInfo", "kernelVersion"])),
    wide("Container-Runtime", Field(&["status", "nodeInfo", "containerRuntimeVersion"])),
];

static POD: &[BuiltInColumn] = &[
    NAME,
    column("Ready", Text("The aggregate readiness state of this pod for accepting traffic.")),
    column("Status", Text("The aggregate status of the containers in this pod.")),
    column(
        "Restarts",
        Text(
            "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        ),
    ),
    AGE,
    wide("IP", Field(&["status", "podIP"])),
    wide("Node", Field(&["spec", "nodeName"])),
    wide("Nominated Node", Field(&["status", "nominatedNodeName"])),
    wide("Readiness Gates", Field(&["spec", "readinessGates"])),
];

const CONTAINERS: BuiltInColumn =
    wide("Containers", Text("Names of each container in the template."));
const IMAGES: BuiltInColumn =
    wide("Images", Text("Images referenced by each container in the template."));
const SELECTOR: BuiltInColumn = wide("Selector", Field(&["spec", "selector"]));

static DEPLOYMENT: &[BuiltInColumn] = &[
    NAME,
    column("Ready", Text("Number of the pod with ready state")),
    column("Up-to-date", Field(&["status", "updatedReplicas"])),
    column("Available", Field(&["status", "availableReplicas"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

static REPLICAS: &[BuiltInColumn] = &[
    NAME,
    number("Desired", Field(&["spec", "replicas"])),
    number("Current", Field(&["status", "replicas"])),
    number("Ready", Field(&["status", "readyReplicas"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

static STATEFUL: &[BuiltInColumn] =
    &[NAME, column("Ready", Text("Number of the pod with ready state")), AGE, CONTAINERS, IMAGES];

static DAEMON: &[BuiltInColumn] = &[
    NAME,
    number("Desired", Field(&["status", "desiredNumberScheduled"])),
    number("Current", Field(&["status", "currentNumberScheduled"])),
    number("Ready", Field(&["status", "numberReady"])),
    number("Up-to-date", Field(&["status", "updatedNumberScheduled"])),
    number("Available", Field(&["status", "numberAvailable"])),
    column("Node Selector", Field(&["spec", "template", "spec", "nodeSelector"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

static BUDGET: &[BuiltInColumn] = &[
    NAME,
    column("Min Available", Text("The minimum number of pods that must be available.")),
    column("Max Unavailable", Text("The maximum number of pods that may be unavailable.")),
    number(
        "Allowed Disruptions",
        Text("Calculated number of pods that may be disrupted at this time."),
    ),
    AGE,
];

static EVENT: &[BuiltInColumn] = &[
    column("Last Seen", EventField(&["lastTimestamp"])),
    column("Type", EventField(&["type"])),
    column("Reason", EventField(&["reason"])),
    column("Object", EventField(&["involvedObject"])),
    wide("Subobject", EventField(&["involvedObject", "fieldPath"])),
    wide("Source", EventField(&["source"])),
    column("Message", EventField(&["message"])),
    wide("First Seen", EventField(&["firstTimestamp"])),
    wide("Count", EventField(&["count"])),
    BuiltInColumn { priority: 1, ..NAME },
];

/// Name, some cells, age.
fn row(object: &Value, cells: Vec<Value>, now: Timestamp) -> Row {
    let mut all = vec![object["metadata"]["name"].clone()];
    all.extend(cells);
    all.push(age_of(object, now));
    all.into()
}

/// A text; empty if missing.
fn text(value: &Value) -> Value {
    Value::from(value.as_str().unwrap_or_default())
}

/// Total number of entries in some maps.
fn count(object: &Value, fields: &[&str]) -> Value {
    let entries = fields.iter().filter_map(|field| object[field].as_object());
    Value::from(entries.map(serde_json::Map::len).sum::<usize>())
}
