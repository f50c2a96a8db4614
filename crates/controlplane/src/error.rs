//! Everything that can go wrong with a plane.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a plane could not be started or asked.
///
/// `Debug` prints the same text as `Display`, because a test that returns an error shows its
/// `Debug` form, and there a component's log must keep its line breaks.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no binaries, and `CI=true` forbids to skip the test.
    #[error("no control plane: {0}; with CI=true this fails the test instead of skipping it")]
    AssetsMissing(String),

    /// The operating system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system answered.
        source: io::Error,
    },

    /// A process ended although it should serve.
    #[error("{component} ended ({status}); the end of its log:\n{log}")]
    Exited {
        /// The program.
        component: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        log: String,
    },

    /// A process runs but did not become ready in time.
    #[error("{component} is not ready after {limit:?} ({last}); the end of its log:\n{log}")]
    NotReady {
        /// The program.
        component: &'static str,
        /// How long was waited.
        limit: Duration,
        /// What the last look at it said.
        last: String,
        /// The last lines that it wrote.
        log: String,
    },

    /// Our own kubeconfig could not be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),

    /// The API server refused a request, or no client could be built.
    #[error("API server: {0}")]
    Api(#[from] kube::Error),

    /// The API server gave no token for a service account.
    #[error("no token came back for service account {0}")]
    NoToken(String),

    /// A line of the audit log is not an audit event.
    #[error("audit log line {line}: {source}")]
    AuditLog {
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Error {
    /// For `map_err`: names what was being done.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// Whether another process took the port between our look and the component's bind.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Exited { log, .. } if log.contains("address already in use"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
