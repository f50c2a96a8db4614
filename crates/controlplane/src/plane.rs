//! The public handle of a running plane.

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
use crate::{Error, Generation, apiserver, cluster_api, controllers, etcd, ipam, kubeconfig, port};

/// Lifetime of a service account's token, in seconds: longer than any test.
const TOKEN_LIFE: i64 = 24 * 60 * 60;

/// Number of planes of a process that may start at the same time. A start uses all available
/// processor time, so more would only delay each other. Running planes are mostly idle.
static STARTING: Semaphore = Semaphore::const_new(2);

/// A running etcd and kube-apiserver, owned by this value.
///
/// Several planes may run at once: each has its own folder, port and token, and no state is global.
/// `Drop` blocks until every process is gone, at most a few seconds each, and the folder is
/// deleted; no async runtime is needed. If the process dies without `Drop`, a janitor process
/// cleans up.
pub struct ControlPlane {
    // Declared before the leash, because components must stop before the leash ends.
    components: Components,
    leash: Leash,
    assets: PathBuf,
    config: Config,
    port: u16,
    kubeconfig: PathBuf,
    /// Start of this test's requests in the audit log.
    since: Moment,
}

impl ControlPlane {
    /// Starts a plane and returns when the API server serves, after a few seconds.
    ///
    /// Returns `None` after a line on stderr if the binaries can neither be found nor built (see
    /// [`assets`](crate::assets())); the test should then end. With `CI=true` in the environment,
    /// missing binaries are an error.
    ///
    /// # Errors
    ///
    /// The error of a component that ended, or was not ready within three minutes, shows the end of
    /// its log. All started processes are stopped before the error is returned, or when the
    /// returned future is dropped.
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

    /// The plane that all tests of this process share, started by the first caller. Each test takes
    /// its own namespace, and its own names for objects without a namespace.
    ///
    /// The plane ends with the process. Skips and fails as [`start`](Self::start) does, for each
    /// test.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start); the next caller tries again.
    pub async fn shared() -> Result<Option<&'static Self>, Error> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let Some(assets) = found_or_skipped().await? else {
            return Ok(None);
        };
        let start = || Self::start_with(assets, Audit::Metadata, port::free());
        SHARED.get_or_try_init(start).await.map(Some)
    }

    /// A new client with all rights. A client is bound to the current async runtime, so each test
    /// makes its own, also for the [`shared`](Self::shared) plane.
    ///
    /// # Errors
    ///
    /// Only if the system refuses resources.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.config.clone())?)
    }

    /// Path of a kubeconfig file with all rights, for kubectl and for the operator. Deleted with
    /// the plane.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Writes a kubeconfig file with the rights of an existing service account, valid for a day.
    /// Deleted with the plane.
    ///
    /// # Errors
    ///
    /// If the service account does not exist.
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
        // Names and namespaces cannot hold an underscore, so paths are unique.
        let path = self.folder().join(format!("{namespace}_{name}.kubeconfig"));
        kubeconfig::write(&path, self.folder(), self.port, &account, &token)?;
        Ok(path)
    }

    /// A `kubectl` command without arguments. The command has all rights on this plane and does not
    /// touch the home folder.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        let mut kubectl = Command::new(self.assets.join("kubectl"));
        kubectl
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.kubectl_cache())
            .env("KUBERC", "off")
            // A short life: garbage is not worth its collection.
            .env("GOGC", "off")
            .env("GOMEMLIMIT", "500MiB");
        kubectl
    }

    /// All requests answered so far, in the order of their complete answers. Includes requests of
    /// the API server to itself.
    ///
    /// The server writes an entry at the end of a response, possibly just after the client has the
    /// answer: poll for an expected entry. The entry of a watch is written at its end, so stop a
    /// client before looking for its watches.
    ///
    /// # Errors
    ///
    /// If the log cannot be read, or a line is not an audit event.
    pub fn audit_log(&self) -> Result<Vec<AuditEntry>, Error> {
        audit::read(&apiserver::audit_log(self.folder()), &self.since)
    }

    /// Hides earlier requests from [`audit_log`](Self::audit_log), and deletes kubectl's cache.
    pub(crate) fn forget_requests(&mut self) -> Result<(), Error> {
        self.since = Moment::now(&apiserver::audit_log(self.folder()))?;
        match fs::remove_dir_all(self.kubectl_cache()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("deleting kubectl's cache")(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether etcd and the API server run, without further components.
    pub(crate) fn is_whole(&mut self) -> bool {
        let components = self.components.get_mut();
        components.len() == 2 && components.iter_mut().all(|one| one.still_runs().is_ok())
    }

    /// Suspends all processes, the last started one first.
    pub(crate) fn freeze(&mut self) {
        self.components.get_mut().iter().rev().for_each(|one| one.freeze(true));
    }

    /// Lets all processes go on, in the order of their start.
    pub(crate) fn thaw(&mut self) {
        self.components.get_mut().iter().for_each(|one| one.freeze(false));
    }

    fn kubectl_cache(&self) -> PathBuf {
        self.folder().join("kubectl-cache")
    }

    /// Starts kube-controller-manager with only the given controllers, such as
    /// `["garbage-collector-controller", "namespace-controller"]`, and returns when healthy. The
    /// process ends with the plane. Apply CRDs before, so that the garbage collector knows their
    /// kinds at once.
    ///
    /// # Errors
    ///
    /// If the binaries lack kube-controller-manager (as with `setup-envtest`), or as for
    /// [`start`](Self::start).
    pub async fn controller_manager(&self, controllers: &[&str]) -> Result<(), Error> {
        let component = controllers::start(&self.assets, &self.leash, controllers).await?;
        self.components.lock().push(component);
        Ok(())
    }

    /// Makes the plane a management cluster of Cluster API: defines the kinds of Cluster API and of its
    /// in-cluster IPAM provider, in the stored version alone and without webhooks, and starts that
    /// provider. Returns when the provider is healthy; the process ends with the plane.
    ///
    /// Returns `false` after a line on stderr if the provider can neither be found nor built; the test
    /// should then end. With `CI=true` in the environment, a missing provider is an error. The first
    /// call on a machine with Go builds the provider and takes minutes. Start the garbage collector
    /// afterwards, so that it knows the kinds at once.
    ///
    /// # Errors
    ///
    /// If the API server refuses a definition, or as for [`start`](Self::start).
    pub async fn ipam_provider(&self, generation: Generation) -> Result<bool, Error> {
        let Some(folder) = cluster_api::folder(generation).await? else { return Ok(false) };
        cluster_api::define(self.client()?, &folder).await?;
        let component = ipam::start(&folder, &self.leash, generation).await?;
        self.components.lock().push(component);
        Ok(true)
    }

    /// The process group of the plane, for
    /// [`CommandExt::process_group`](std::os::unix::process::CommandExt::process_group): processes in
    /// the group end with the plane, even if the plane is not dropped.
    #[must_use]
    pub fn process_group(&self) -> i32 {
        self.leash.group()
    }

    /// The folder of all files of the plane, including the components' logs. Deleted with the
    /// plane.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.leash.folder()
    }

    async fn start_with(
        assets: PathBuf,
        audit: Audit,
        ports: impl Iterator<Item = io::Result<u16>>,
    ) -> Result<Self, Error> {
        // The semaphore is never closed, so `acquire` cannot fail.
        let _turn = STARTING.acquire().await;
        let leash = Leash::new()?;
        // Declared after the leash, so that a failure or a dropped future stops components first.
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

/// Processes of the plane, dropped in reverse order of their start: clients before servers.
#[derive(Default)]
struct Components(Mutex<Vec<Component>>);

impl Components {
    fn lock(&self) -> MutexGuard<'_, Vec<Component>> {
        // A panicking test leaves the list valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of an ended component if there is any, else `error`: the end of a component
    /// explains later failures.
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
