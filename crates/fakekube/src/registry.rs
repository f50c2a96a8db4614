//! The served kinds: built-in kinds and those of the installed CustomResourceDefinitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::crd;
use crate::schema::Structural;

/// A column of a kind's Table, as in `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `date`, ...
    pub r#type: String,
    /// Format as in OpenAPI; may be empty.
    pub format: String,
    /// Description of the column; may be empty.
    pub description: String,
    /// Columns with priority 0 are always shown, others only with `-o wide`.
    pub priority: i64,
    /// JSON path of the value in an object of a custom kind.
    pub json_path: String,
}

/// A kind in a served version.
#[derive(Clone, Debug)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// `v1`, `v1alpha1`, ...
    pub version: String,
    /// `Node`, the `kind` field of objects.
    pub kind: String,
    /// `NodeList`, the `kind` field of lists.
    pub list_kind: String,
    /// `nodes`: the path segment.
    pub plural: String,
    /// `node`, for kubectl.
    pub singular: String,
    /// `no`, for kubectl.
    pub short_names: Vec<String>,
    /// `all`, for kubectl.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether `/status` is served and the main resource ignores `status`.
    pub status_subresource: bool,
    /// The printer columns of a custom kind. Empty for a built-in kind, whose columns are in
    /// `table`.
    pub columns: Vec<Column>,
    /// The schema of a custom kind; `None` for a built-in kind.
    pub structural: Option<Arc<Structural>>,
    /// `spec.versions[i].schema.openAPIV3Schema` of a custom kind verbatim, for OpenAPI documents.
    pub schema: Option<Arc<Value>>,
    /// The verbs of the main resource, sorted: `create`, `delete`, `deletecollection`, `get`, ...
    pub verbs: Vec<String>,
    /// `spec.versions[i].selectableFields[].jsonPath` without the leading dot.
    pub selectable: Vec<String>,
    /// Whether objects have `/scale`, which is served for built-in kinds alone.
    pub scale: bool,
    /// Group and plural under which objects are stored. The versions of a kind share a place, and
    /// so do the two Event kinds.
    pub storage: (String, String),
}

impl Kind {
    /// `v1` or `apps/v1`, the `apiVersion` field of objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `nodes` or `floatingippools.flipop.digitalocean.com`, the resource's name in messages.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Node` or `FloatingIPPool.flipop.digitalocean.com`, the kind's name in messages.
    #[must_use]
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// Whether the kind is built in rather than from a CustomResourceDefinition.
    #[must_use]
    pub fn built_in(&self) -> bool {
        self.schema.is_none()
    }
}

/// Group, version, plural.
type Place = (String, String, String);

/// All served kinds, in the order of group, version and plural.
#[derive(Clone, Debug)]
pub struct Registry {
    kinds: BTreeMap<Place, Arc<Kind>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry of the built-in kinds only.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Self { kinds: BTreeMap::new() };
        for kind in builtin::kinds() {
            registry.add(kind);
        }
        registry
    }

    fn add(&mut self, kind: Kind) {
        let place = (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        self.kinds.insert(place, Arc::new(kind));
    }

    /// Serves the kinds of a CustomResourceDefinition object (one for each served version), and
    /// replaces earlier kinds of the same definition.
    ///
    /// # Errors
    ///
    /// If a schema is not structural. The message says why, and the registry is unchanged.
    pub fn install(&mut self, definition: &Value) -> Result<(), String> {
        let kinds = crd::kinds(definition)?;
        self.remove(definition);
        for kind in kinds {
            self.add(kind);
        }
        Ok(())
    }

    /// Stops serving the kinds of a CustomResourceDefinition object.
    pub fn remove(&mut self, definition: &Value) {
        let (group, plural) = crd::storage(definition);
        self.kinds
            .retain(|_, kind| kind.built_in() || kind.group != group || kind.plural != plural);
    }

    /// The kind at a path `/apis/{group}/{version}/{plural}`.
    #[must_use]
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// All kinds of all groups and versions.
    pub fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// The kinds of a group and version, sorted by plural.
    pub fn of(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values().filter(move |kind| kind.group == group && kind.version == version)
    }

    /// The served groups, the core group (an empty string) first, then by name.
    #[must_use]
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = self.kinds.values().map(|kind| kind.group.as_str()).collect();
        groups.dedup();
        groups
    }

    /// The versions of a group in the order of preference: stable, beta, alpha, each with the
    /// greater number first.
    #[must_use]
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let of_group = self.kinds.values().filter(|kind| kind.group == group);
        let mut versions: Vec<&str> = of_group.map(|kind| kind.version.as_str()).collect();
        versions.sort_by(|a, b| crd::version_order(a, b));
        versions.dedup();
        versions
    }
}
