//! The fields of messages, with the numbers of Kubernetes' `generated.proto`.

/// Type of a field. Go omits empty values from JSON unless they are behind a pointer.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Text,
    Bytes,
    /// Omitted if 0.
    Number,
    /// Shown even if 0.
    Count,
    Flag,
    /// Omitted if false.
    Mark,
    Time,
    /// A number or a percentage.
    Share,
    Of(&'static [Field]),
}

#[derive(Clone, Copy)]
pub(super) enum Shape {
    One,
    Many,
    /// Keys are texts.
    Map,
}

pub(super) type Field = (u64, &'static str, Shape, Type);

const OWNER: &[Field] = &[
    (1, "kind", Shape::One, Type::Text),
    (3, "name", Shape::One, Type::Text),
    (4, "uid", Shape::One, Type::Text),
    (5, "apiVersion", Shape::One, Type::Text),
    (6, "controller", Shape::One, Type::Flag),
    (7, "blockOwnerDeletion", Shape::One, Type::Flag),
];

const METADATA: &[Field] = &[
    (1, "name", Shape::One, Type::Text),
    (2, "generateName", Shape::One, Type::Text),
    (3, "namespace", Shape::One, Type::Text),
    (4, "selfLink", Shape::One, Type::Text),
    (5, "uid", Shape::One, Type::Text),
    (6, "resourceVersion", Shape::One, Type::Text),
    (7, "generation", Shape::One, Type::Number),
    (8, "creationTimestamp", Shape::One, Type::Time),
    (9, "deletionTimestamp", Shape::One, Type::Time),
    (10, "deletionGracePeriodSeconds", Shape::One, Type::Count),
    (11, "labels", Shape::Map, Type::Text),
    (12, "annotations", Shape::Map, Type::Text),
    (13, "ownerReferences", Shape::Many, Type::Of(OWNER)),
    (14, "finalizers", Shape::Many, Type::Text),
];

const REFERENCE: &[Field] = &[
    (1, "kind", Shape::One, Type::Text),
    (2, "namespace", Shape::One, Type::Text),
    (3, "name", Shape::One, Type::Text),
    (4, "uid", Shape::One, Type::Text),
    (5, "apiVersion", Shape::One, Type::Text),
    (6, "resourceVersion", Shape::One, Type::Text),
    (7, "fieldPath", Shape::One, Type::Text),
];

const DELETE_OPTIONS: &[Field] = &[
    (1, "gracePeriodSeconds", Shape::One, Type::Count),
    (2, "preconditions", Shape::One, Type::Of(PRECONDITIONS)),
    (3, "orphanDependents", Shape::One, Type::Flag),
    (4, "propagationPolicy", Shape::One, Type::Text),
    (5, "dryRun", Shape::Many, Type::Text),
];

const PRECONDITIONS: &[Field] =
    &[(1, "uid", Shape::One, Type::Text), (2, "resourceVersion", Shape::One, Type::Text)];

/// `IntOrString`, with shorter names.
pub(super) const SHARE: &[Field] = &[
    (1, "type", Shape::One, Type::Count),
    (2, "number", Shape::One, Type::Count),
    (3, "text", Shape::One, Type::Text),
];

const SELECTOR: &[Field] = &[
    (1, "matchLabels", Shape::Map, Type::Text),
    (
        2,
        "matchExpressions",
        Shape::Many,
        Type::Of(&[
            (1, "key", Shape::One, Type::Text),
            (2, "operator", Shape::One, Type::Text),
            (3, "values", Shape::Many, Type::Text),
        ]),
    ),
];

const DEPLOYMENT: &[Field] = &[
    (1, "replicas", Shape::One, Type::Count),
    (2, "selector", Shape::One, Type::Of(SELECTOR)),
    (3, "template", Shape::One, Type::Of(TEMPLATE)),
    (4, "strategy", Shape::One, Type::Of(&[(1, "type", Shape::One, Type::Text)])),
    (5, "minReadySeconds", Shape::One, Type::Number),
    (6, "revisionHistoryLimit", Shape::One, Type::Count),
    (7, "paused", Shape::One, Type::Mark),
    (9, "progressDeadlineSeconds", Shape::One, Type::Count),
];

const DEPLOYMENT_STATUS: &[Field] = &[
    (1, "observedGeneration", Shape::One, Type::Number),
    (2, "replicas", Shape::One, Type::Number),
    (3, "updatedReplicas", Shape::One, Type::Number),
    (4, "availableReplicas", Shape::One, Type::Number),
    (5, "unavailableReplicas", Shape::One, Type::Number),
    (7, "readyReplicas", Shape::One, Type::Number),
];

const BUDGET: &[Field] = &[
    (1, "minAvailable", Shape::One, Type::Share),
    (2, "selector", Shape::One, Type::Of(SELECTOR)),
    (3, "maxUnavailable", Shape::One, Type::Share),
    (4, "unhealthyPodEvictionPolicy", Shape::One, Type::Text),
];

const BUDGET_STATUS: &[Field] = &[
    (1, "observedGeneration", Shape::One, Type::Number),
    (3, "disruptionsAllowed", Shape::One, Type::Number),
    (4, "currentHealthy", Shape::One, Type::Number),
    (5, "desiredHealthy", Shape::One, Type::Number),
    (6, "expectedPods", Shape::One, Type::Number),
];

const TEMPLATE: &[Field] =
    &[(1, "metadata", Shape::One, Type::Of(METADATA)), (2, "spec", Shape::One, Type::Of(POD))];

/// The fields of a pod's spec that kubectl's generators set, and those that are always sent.
const POD: &[Field] = &[
    (2, "containers", Shape::Many, Type::Of(CONTAINER)),
    (3, "restartPolicy", Shape::One, Type::Text),
    (6, "dnsPolicy", Shape::One, Type::Text),
    (8, "serviceAccountName", Shape::One, Type::Text),
    (9, "serviceAccount", Shape::One, Type::Text),
    (10, "nodeName", Shape::One, Type::Text),
    (11, "hostNetwork", Shape::One, Type::Mark),
    (12, "hostPID", Shape::One, Type::Mark),
    (13, "hostIPC", Shape::One, Type::Mark),
    (16, "hostname", Shape::One, Type::Text),
    (17, "subdomain", Shape::One, Type::Text),
    (19, "schedulerName", Shape::One, Type::Text),
    (24, "priorityClassName", Shape::One, Type::Text),
];

const CONTAINER: &[Field] = &[
    (1, "name", Shape::One, Type::Text),
    (2, "image", Shape::One, Type::Text),
    (3, "command", Shape::Many, Type::Text),
    (4, "args", Shape::Many, Type::Text),
    (5, "workingDir", Shape::One, Type::Text),
    (6, "ports", Shape::Many, Type::Of(PORT)),
    (8, "resources", Shape::One, Type::Of(&[])),
    (13, "terminationMessagePath", Shape::One, Type::Text),
    (14, "imagePullPolicy", Shape::One, Type::Text),
    (16, "stdin", Shape::One, Type::Mark),
    (17, "stdinOnce", Shape::One, Type::Mark),
    (18, "tty", Shape::One, Type::Mark),
    (20, "terminationMessagePolicy", Shape::One, Type::Text),
];

const PORT: &[Field] = &[
    (1, "name", Shape::One, Type::Text),
    (2, "hostPort", Shape::One, Type::Number),
    (3, "containerPort", Shape::One, Type::Number),
    (4, "protocol", Shape::One, Type::Text),
    (5, "hostIP", Shape::One, Type::Text),
];

/// The supported kinds.
pub(super) const KINDS: &[(&str, &[Field])] = &[
    (
        "ConfigMap",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "data", Shape::Map, Type::Text),
            (3, "binaryData", Shape::Map, Type::Bytes),
            (4, "immutable", Shape::One, Type::Flag),
        ],
    ),
    (
        "Secret",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "data", Shape::Map, Type::Bytes),
            (3, "type", Shape::One, Type::Text),
            (4, "stringData", Shape::Map, Type::Text),
            (5, "immutable", Shape::One, Type::Flag),
        ],
    ),
    (
        "Namespace",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "spec", Shape::One, Type::Of(&[(1, "finalizers", Shape::Many, Type::Text)])),
            (3, "status", Shape::One, Type::Of(&[(1, "phase", Shape::One, Type::Text)])),
        ],
    ),
    (
        "ServiceAccount",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "secrets", Shape::Many, Type::Of(REFERENCE)),
            (3, "imagePullSecrets", Shape::Many, Type::Of(&[(1, "name", Shape::One, Type::Text)])),
            (4, "automountServiceAccountToken", Shape::One, Type::Flag),
        ],
    ),
    (
        "Eviction",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "deleteOptions", Shape::One, Type::Of(DELETE_OPTIONS)),
        ],
    ),
    ("DeleteOptions", DELETE_OPTIONS),
    (
        "Deployment",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "spec", Shape::One, Type::Of(DEPLOYMENT)),
            (3, "status", Shape::One, Type::Of(DEPLOYMENT_STATUS)),
        ],
    ),
    (
        "PodDisruptionBudget",
        &[
            (1, "metadata", Shape::One, Type::Of(METADATA)),
            (2, "spec", Shape::One, Type::Of(BUDGET)),
            (3, "status", Shape::One, Type::Of(BUDGET_STATUS)),
        ],
    ),
];
