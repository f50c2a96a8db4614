//! Failures of requests about the Lease, logged with advice and at a limited rate.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Config;
use crate::observe::causes;
use crate::observe::follow::Break;

/// Time between two warnings of the same kind.
const REPEAT: Duration = Duration::from_secs(60);

/// The advice for a failure that nobody has to act on as a rule.
const OFTEN_PASSES: &str = "such failures often pass by themselves; if this one lasts, check the connection to \
                            the API server";

/// Why a request about the Lease failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("{0}")]
    Request(#[from] kube::Error),
    #[error("{0}")]
    Watch(Break),
}

/// The cause of a failure, as far as the advice differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// A watch that was idle for too long; the Leases are listed again.
    Expired,
    Forbidden,
    Unauthorized,
    NamespaceMissing,
    Other,
}

impl Trouble {
    /// Whether the server refused a write because the Lease was changed, created or deleted by
    /// another writer in the meantime.
    pub fn is_conflict(&self, verb: &str) -> bool {
        self.status().is_some_and(|status| match status.code {
            409 => true,
            404 => verb != "create",
            _ => false,
        })
    }

    /// Whether the server refused the request for lack of rights.
    pub fn is_forbidden(&self) -> bool {
        self.cause() == Cause::Forbidden
    }

    fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Request(kube::Error::Api(status))
            | Self::Watch(Break::Failed(kube::Error::Api(status))) => Some(status),
            _ => None,
        }
    }

    fn cause(&self) -> Cause {
        match self.status().map(|status| status.code) {
            Some(403) => Cause::Forbidden,
            Some(401) => Cause::Unauthorized,
            Some(410) => Cause::Expired,
            // Only a create reports a 404: for other verbs, a 404 is a conflict or an absent Lease.
            Some(404) => Cause::NamespaceMissing,
            _ => Cause::Other,
        }
    }

    fn advice(&self, config: &Config) -> String {
        let Config { namespace, .. } = config;
        match self.cause() {
            Cause::Forbidden => format!(
                "grant get, list, watch, create and update on leases.coordination.k8s.io in namespace \
                 {namespace} to this replica's service account (a Role and a RoleBinding); no restart is needed"
            ),
            Cause::Unauthorized => {
                "the API server does not accept this replica's credentials: check its service account token \
                 or --kubeconfig"
                    .to_owned()
            }
            Cause::NamespaceMissing => format!(
                "create the namespace (kubectl create namespace {namespace}), or, outside a pod, set \
                 POD_NAMESPACE to a namespace that exists"
            ),
            Cause::Expired | Cause::Other => OFTEN_PASSES.to_owned(),
        }
    }

    /// The advice for a Lease of another controller.
    fn advice_about_others(&self) -> &'static str {
        match self.cause() {
            Cause::Forbidden => {
                "grant what the chart's roles grant on leases.coordination.k8s.io in all namespaces"
            }
            Cause::Unauthorized => "check this replica's service account token, or --kubeconfig",
            Cause::Expired | Cause::NamespaceMissing | Cause::Other => OFTEN_PASSES,
        }
    }

    /// The server's message, without the debug dump that kube appends; without an answer, the chain
    /// of causes.
    fn words(&self) -> String {
        self.status().map_or_else(|| causes(self), |status| status.message.clone())
    }
}

/// Logs each kind of failure at once, then at most once a minute.
#[derive(Debug, Default)]
pub(super) struct Complaints(BTreeMap<(Cause, &'static str), Duration>);

impl Complaints {
    pub fn tell(&mut self, trouble: &Trouble, verb: &'static str, config: &Config, now: Duration) {
        if !self.is_due(trouble.cause(), verb, now) {
            return tracing::debug!(verb, error = %trouble.words(), "the Lease could not be used");
        }
        tracing::warn!(
            lease = %format_args!("{}/{}", config.namespace, config.name),
            verb,
            error = %trouble.words(),
            advice = %trouble.advice(config),
            "the Lease could not be used; trying again"
        );
    }

    /// [`tell`](Self::tell) for a Lease of another controller.
    pub fn tell_of_others(
        &mut self,
        trouble: &Trouble,
        verb: &'static str,
        lease: &str,
        now: Duration,
    ) {
        let error = trouble.words();
        if !self.is_due(trouble.cause(), verb, now) {
            return tracing::debug!(verb, error, "another controller's Lease could not be used");
        }
        tracing::warn!(
            lease,
            verb,
            error,
            advice = trouble.advice_about_others(),
            "another controller's Lease could not be used; trying again"
        );
    }

    fn is_due(&mut self, cause: Cause, verb: &'static str, now: Duration) -> bool {
        let told = self.0.get(&(cause, verb));
        let due = cause != Cause::Expired && told.is_none_or(|told| now >= *told + REPEAT);
        if due {
            self.0.insert((cause, verb), now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::leadership::{Identity, Timing};

    fn answered(code: u16, message: &str) -> Trouble {
        Trouble::Request(kube::Error::Api(Status::failure(message, "").with_code(code).boxed()))
    }

    fn config() -> Config {
        Config {
            namespace: "infra".to_owned(),
            name: "pontoon".to_owned(),
            identity: Identity::new("a", None, "1"),
            timing: Timing::default(),
            provider_timeout: Duration::from_secs(5),
        }
    }

    #[test]
    fn each_kind_of_trouble_is_told_at_once_and_then_once_a_minute() {
        let mut complaints = Complaints::default();
        let at = Duration::from_secs;
        assert!(complaints.is_due(Cause::Forbidden, "replace", at(0)));
        assert!(!complaints.is_due(Cause::Forbidden, "replace", at(2)));
        assert!(complaints.is_due(Cause::Forbidden, "watch", at(2)));
        assert!(complaints.is_due(Cause::Other, "replace", at(2)));
        assert!(!complaints.is_due(Cause::Forbidden, "replace", at(59)));
        assert!(complaints.is_due(Cause::Forbidden, "replace", at(60)));
        assert!(!complaints.is_due(Cause::Forbidden, "replace", at(119)));
        assert!(!complaints.is_due(Cause::Expired, "watch", at(119)), "happens in good health");
    }

    #[test]
    fn advice_names_the_fix() {
        let forbidden = answered(403, "leases is forbidden").advice(&config());
        assert!(forbidden.contains("leases.coordination.k8s.io in namespace infra"), "{forbidden}");
        let missing = answered(404, "namespaces \"infra\" not found").advice(&config());
        assert!(missing.contains("kubectl create namespace infra"), "{missing}");
        assert!(missing.contains("POD_NAMESPACE"), "{missing}");
        let watched = Trouble::Watch(Break::Failed(kube::Error::Api(
            Status::failure("leases is forbidden", "").with_code(403).boxed(),
        )));
        assert_eq!(watched.advice(&config()), forbidden);
    }

    #[test]
    fn rights_are_only_asked_for_where_they_are_missing() {
        assert!(answered(403, "").advice_about_others().contains("the chart's roles"));
        let unreachable = Trouble::Timeout(Duration::from_secs(5)).advice_about_others();
        assert!(unreachable.contains("the connection to the API server"), "{unreachable}");
    }

    #[test]
    fn a_missing_lease_is_a_conflict_for_a_renewal_and_a_missing_namespace_for_a_create() {
        for (code, verb, conflict) in [
            (409, "create", true),
            (409, "replace", true),
            (404, "replace", true),
            (404, "create", false),
            (403, "replace", false),
            (500, "replace", false),
        ] {
            assert_eq!(answered(code, "").is_conflict(verb), conflict, "{code} {verb}");
        }
        assert!(!Trouble::Timeout(Duration::from_secs(5)).is_conflict("replace"));
    }
}
