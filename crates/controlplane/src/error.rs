//! Errors of a plane.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// The reason why a plane could not start or answer.
///
/// `Debug` prints the same text as `Display`: a test that returns an error shows the `Debug` form,
/// and the log of a component must keep its line breaks there.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No binaries were found, and `CI=true` forbids skipping the test.
    #[error("no control plane: {0}; with CI=true this fails the test instead of skipping it")]
    AssetsMissing(String),

    /// An operation of the operating system failed.
    #[error("{doing}: {source}")]
    Io {
        /// The attempted operation.
        doing: String,
        /// The error of the operating system.
        source: io::Error,
    },

    /// A process ended before or while serving.
    #[error("{component} ended ({status}); the end of its log:\n{log}")]
    Exited {
        /// Name of the program.
        component: &'static str,
        /// Exit status of the process.
        status: ExitStatus,
        /// The last lines of the process's log.
        log: String,
    },

    /// A process runs but did not become ready in time.
    #[error("{component} is not ready after {limit:?} ({last}); the end of its log:\n{log}")]
    NotReady {
        /// Name of the program.
        component: &'static str,
        /// The time limit.
        limit: Duration,
        /// The reason that the last check gave.
        last: String,
        /// The last lines of the process's log.
        log: String,
    },

    /// The plane's own kubeconfig could not be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),

    /// The API server refused a request, or no client could be built.
    #[error("API server: {0}")]
    Api(#[from] kube::Error),

    /// A definition could not be read, or is not served.
    #[error("definition {0}: {1}")]
    Definition(String, String),

    /// The API server returned no token for a service account.
    #[error("no token came back for service account {0}")]
    NoToken(String),

    /// A line of the audit log is not an audit event.
    #[error("audit log line {line}: {source}")]
    AuditLog {
        /// The line's number, from 1.
        line: usize,
        /// The parse error.
        source: serde_json::Error,
    },
}

impl Error {
    /// For `map_err`: adds the attempted operation to an I/O error.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// Whether another process took the port after `port::free` found it free.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Exited { log, .. } if log.contains("address already in use"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
