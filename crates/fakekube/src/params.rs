//! The query of a request.

use serde_json::json;

use crate::refusal::Refusal;
use crate::schema::Cause;

/// All supported query parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    pub(crate) watch: bool,
    pub(crate) limit: Option<u64>,
    pub(crate) go_on: Option<String>,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) resource_version: String,
    pub(crate) version_match: String,
    pub(crate) initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Option<u64>,
    pub(crate) dry_run: Vec<String>,
    pub(crate) field_manager: String,
    pub(crate) field_validation: String,
    pub(crate) force: Option<bool>,
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<String>,
    pub(crate) include_object: String,
}

impl Params {
    pub(crate) fn parse(query: &str) -> Result<Self, Refusal> {
        let mut params = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            params.set(&key, value.into_owned())?;
        }
        Ok(params)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), Refusal> {
        match key {
            "watch" => self.watch = flag(&value),
            "limit" => self.limit = Some(number(&value)?.max(0).unsigned_abs()),
            "continue" => self.go_on = Some(value).filter(|token| !token.is_empty()),
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.version_match = value,
            "sendInitialEvents" => self.initial_events = Some(flag(&value)),
            "allowWatchBookmarks" => self.bookmarks = flag(&value),
            "timeoutSeconds" => self.timeout = Some(number(&value)?.max(0).unsigned_abs()),
            "dryRun" => self.dry_run.push(value),
            "fieldManager" => self.field_manager = value,
            "fieldValidation" => self.field_validation = value,
            "force" => self.force = Some(flag(&value)),
            "gracePeriodSeconds" => self.grace = Some(number(&value)?),
            "propagationPolicy" => self.propagation = Some(value),
            "includeObject" => self.include_object = value,
            // The server ignores unknown parameters.
            _ => {}
        }
        Ok(())
    }

    /// Whether the request is a dry run.
    pub(crate) fn dry(&self) -> bool {
        !self.dry_run.is_empty()
    }

    /// Checks the options of a write. Messages call them `CreateOptions`, `UpdateOptions` or
    /// `PatchOptions`.
    pub(crate) fn check_write(&self, options: &str) -> Result<(), Refusal> {
        let mut causes = dry_run(&self.dry_run);
        let known = ["", "Ignore", "Strict", "Warn"];
        if !known.contains(&self.field_validation.as_str()) {
            let given = json!(self.field_validation);
            causes.push(Cause::not_supported("fieldValidation", &given, &known.map(str::to_owned)));
        }
        if options == "PatchOptions" && self.force.is_some() {
            let why = "may not be specified for non-apply patch";
            causes.push(Cause::forbidden("force", why));
        }
        refuse(options, &causes)
    }

    /// Checks the options of a server-side apply.
    pub(crate) fn check_apply(&self) -> Result<(), Refusal> {
        if self.field_manager.is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return refuse("PatchOptions", &[cause]);
        }
        self.check_write("ApplyOptions")
    }

    /// Checks the options of a list or watch, and applies the server's defaults for a watch without
    /// a resource version.
    pub(crate) fn check_list(&mut self) -> Result<(), Refusal> {
        let versioned = !matches!(self.resource_version.as_str(), "" | "0");
        let unasked = self.initial_events.is_none() && self.version_match.is_empty();
        if self.watch && unasked && !versioned {
            self.initial_events = Some(true);
            self.version_match = "NotOlderThan".to_owned();
        }
        let causes: Vec<Cause> = self.list_cause().into_iter().collect();
        refuse("ListOptions", &causes)
    }

    fn list_cause(&self) -> Option<Cause> {
        let matching = "resourceVersionMatch";
        let forbidden = |field: &str, why: &str| Some(Cause::forbidden(field, why));
        if !self.watch && self.initial_events.is_some() {
            return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
        if self.initial_events.is_some() && self.version_match != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return forbidden(matching, why);
        }
        if self.version_match.is_empty() {
            return None;
        }
        let known = ["Exact", "NotOlderThan", ""];
        if !known.contains(&self.version_match.as_str()) {
            let given = json!(self.version_match);
            return Some(Cause::not_supported(matching, &given, &known.map(str::to_owned)));
        }
        if self.watch && self.initial_events.is_none() {
            let why =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            return forbidden(matching, why);
        }
        if self.go_on.is_some() {
            return forbidden(
                matching,
                "resourceVersionMatch is forbidden when continue is provided",
            );
        }
        if self.resource_version.is_empty() && !self.watch {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return forbidden(matching, why);
        }
        if self.version_match == "Exact" && self.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            return forbidden(matching, why);
        }
        None
    }
}

/// Violations in a list of dry run directives.
pub(crate) fn dry_run(directives: &[String]) -> Vec<Cause> {
    if directives.iter().all(|directive| directive == "All") {
        return Vec::new();
    }
    vec![Cause::not_supported("dryRun", &json!(directives), &["All".to_owned()])]
}

/// Refuses options for the causes, if there are any.
pub(crate) fn refuse(options: &str, causes: &[Cause]) -> Result<(), Refusal> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid_as("meta.k8s.io", options, "", causes))
}

fn flag(text: &str) -> bool {
    !(text == "0" || text.eq_ignore_ascii_case("false"))
}

fn number(text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| {
        Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
    })
}
