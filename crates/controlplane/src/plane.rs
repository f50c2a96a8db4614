//! A plane as a test sees it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use tokio::sync::{OnceCell, Semaphore};

use crate::apiserver::Audit;
use crate::assets::found_or_skipped;
use crate::audit::{self, AuditEntry, Moment};
use crate::component::Component;
use crate::leash::Leash;
use crate::{Error, apiserver, controllers, etcd, kubeconfig, port};

/// How long a service account's token holds, in seconds: longer than any test.
const TOKEN_LIFE: i64 = 24 * 60 * 60;

/// So many planes of a process start at a time: a start takes all the processor it can get, and
/// more at once would only make each of them late. Running planes wait most of the time.
static STARTING: Semaphore = Semaphore::const_new(2);

/// A running etcd and kube-apiserver that belong to this value.
///
/// Several may run at once: each has its own folder, port and token, and nothing is global.
/// Dropping it blocks until every process is gone, at most a few seconds each, and the folder
/// is deleted; this needs no async runtime. If the process dies without dropping it, a janitor
/// process does the same right after.
pub struct ControlPlane {
    // Declared before the leash, for they must be gone before it is let go.
    components: Components,
    leash: Leash,
    assets: PathBuf,
    config: Config,
    port: u16,
    kubeconfig: PathBuf,
    /// Requests that came before are none of this test's.
    since: Moment,
}

impl ControlPlane {
    /// Starts a plane and returns when it serves, in a few seconds.
    ///
    /// Where the binaries cannot be found or built (see [`assets`](crate::assets())) this
    /// returns `None` after one line on stderr, and the test should end; with `CI=true` in the
    /// environment it is an error instead.
    ///
    /// # Errors
    ///
    /// A component that ends, or is not ready within a minute, shows the end of its log.
    /// Whatever was started is stopped before the error is returned, or when the returned
    /// future is dropped.
    pub async fn start() -> Result<Option<Self>, Error> {
        match found_or_skipped().await? {
            Some(assets) => Self::start_with(assets, Audit::Metadata, port::free()).await.map(Some),
            None => Ok(None),
        }
    }

    /// As [`start`](Self::start), with the bodies of requests and answers in
    /// [`audit_log`](Self::audit_log).
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub async fn start_recording() -> Result<Option<Self>, Error> {
        match found_or_skipped().await? {
            Some(assets) => Self::start_with(assets, Audit::Bodies, port::free()).await.map(Some),
            None => Ok(None),
        }
    }

    /// The one plane that all tests of this process share, started by the first to ask. Take
    /// a namespace for each test, and names of your own for what has none.
    ///
    /// It ends with the process. Skips and fails as [`start`](Self::start) does, for each
    /// test.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start); the next test to ask tries again.
    pub async fn shared() -> Result<Option<&'static Self>, Error> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let Some(assets) = found_or_skipped().await? else {
            return Ok(None);
        };
        let start = || Self::start_with(assets, Audit::Metadata, port::free());
        SHARED.get_or_try_init(start).await.map(Some)
    }

    /// A new client with all rights. It is bound to the async runtime it is made in, so each
    /// test makes its own, also of the [`shared`](Self::shared) plane.
    ///
    /// # Errors
    ///
    /// None on a plane that has started, short of the system refusing resources.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.config.clone())?)
    }

    /// A kubeconfig file with all rights, for kubectl and for the operator. Gone with the
    /// plane.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A kubeconfig file with the rights of an existing service account and no others, for a
    /// day. Gone with the plane.
    ///
    /// # Errors
    ///
    /// When the service account does not exist.
    pub async fn kubeconfig_for(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        let account = format!("{namespace}/{name}");
        let spec = TokenRequestSpec {
            expiration_seconds: Some(TOKEN_LIFE),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client()?, namespace);
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        let token = answer.status.ok_or(Error::NoToken(account.clone()))?.token;
        // Neither part of the file's name can hold an underscore.
        let path = self.folder().join(format!("{namespace}_{name}.kubeconfig"));
        kubeconfig::write(&path, self.folder(), self.port, &account, &token)?;
        Ok(path)
    }

    /// A `kubectl` command to add arguments to. It has all rights on this plane, and neither
    /// reads nor writes anything under the home folder.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        let mut kubectl = Command::new(self.assets.join("kubectl"));
        kubectl
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.kubectl_cache())
            .env("KUBERC", "off");
        kubectl
    }

    /// All requests answered so far, in the order in which their answers were complete; the
    /// API server's own to itself are among them.
    ///
    /// An entry is written at the end of its response, which may be just after the client has
    /// it: wait for an entry that must come. A watch is entered when it ends, so stop a
    /// client before you look for its watches.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or holds something else than audit events.
    pub fn audit_log(&self) -> Result<Vec<AuditEntry>, Error> {
        audit::read(&apiserver::audit_log(self.folder()), &self.since)
    }

    /// What was asked until now is no longer in [`audit_log`](Self::audit_log), nor in what
    /// kubectl remembers of the server.
    pub(crate) fn forget_requests(&mut self) -> Result<(), Error> {
        self.since = Moment::now(&apiserver::audit_log(self.folder()))?;
        match fs::remove_dir_all(self.kubectl_cache()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("deleting kubectl's cache")(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether etcd and the API server run, and nothing else does.
    pub(crate) fn is_whole(&mut self) -> bool {
        let components = self.components.get_mut();
        components.len() == 2 && components.iter_mut().all(|one| one.still_runs().is_ok())
    }

    fn kubectl_cache(&self) -> PathBuf {
        self.folder().join("kubectl-cache")
    }

    /// Starts kube-controller-manager with just these controllers, such as
    /// `["garbage-collector-controller", "namespace-controller"]`, and returns when it is
    /// healthy. It ends with the plane. Apply CRDs before, so that the garbage collector
    /// knows their kinds at once.
    ///
    /// # Errors
    ///
    /// When the binaries do not include it (those of `setup-envtest` do not), or as for
    /// [`start`](Self::start).
    pub async fn controller_manager(&self, controllers: &[&str]) -> Result<(), Error> {
        let component = controllers::start(&self.assets, &self.leash, controllers).await?;
        self.components.lock().push(component);
        Ok(())
    }

    /// The folder of everything the plane writes, the components' logs among it. Gone with
    /// the plane.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.leash.folder()
    }

    async fn start_with(
        assets: PathBuf,
        audit: Audit,
        ports: impl Iterator<Item = io::Result<u16>>,
    ) -> Result<Self, Error> {
        // Never closed, so that an error cannot come.
        let _turn = STARTING.acquire().await;
        let leash = Leash::new()?;
        // After the leash, so that a failure or a dropped future stops them before it.
        let mut components = Components::default();
        let started = components.get_mut();
        started.push(etcd::start(&assets, &leash).await?);
        let (component, config) = match apiserver::start(&assets, &leash, audit, ports).await {
            Ok(serving) => serving,
            Err(error) => return Err(components.cause_of(error)),
        };
        started.push(component);
        Ok(Self {
            components,
            kubeconfig: apiserver::admin_kubeconfig(leash.folder()),
            port: config.cluster_url.port_u16().unwrap_or_default(),
            config,
            assets,
            leash,
            since: Moment::default(),
        })
    }
}

/// Dropped in reverse of the order in which they were started: clients before servers.
#[derive(Default)]
struct Components(Mutex<Vec<Component>>);

impl Components {
    fn lock(&self) -> MutexGuard<'_, Vec<Component>> {
        // A test that panicked does not make the list wrong.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A component that ended is the better explanation of what failed after it.
    fn cause_of(&mut self, error: Error) -> Error {
        let mut ended = self.get_mut().iter_mut().map(Component::still_runs);
        ended.find_map(Result::err).unwrap_or(error)
    }

    fn get_mut(&mut self) -> &mut Vec<Component> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Components {
    fn drop(&mut self) {
        while let Some(last) = self.get_mut().pop() {
            drop(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_taken_port_is_replaced_by_another() {
        let Some(assets) = found_or_skipped().await.unwrap() else {
            return;
        };
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = other.local_addr().unwrap().port();

        let ports = [Ok(taken)].into_iter().chain(port::free());
        let plane = ControlPlane::start_with(assets, Audit::Metadata, ports).await.unwrap();

        assert_ne!(plane.port, taken);
        plane.client().unwrap().apiserver_version().await.unwrap();
    }
}
