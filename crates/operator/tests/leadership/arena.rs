//! Candidates on the real API server, each test in its own namespace.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use control_plane::{AuditEntry, ControlPlane};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role as RbacRole, RoleBinding};
use kube::api::{DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use pontoon::env::Env;
use pontoon::leadership::{Config, Identity, LEASE, Leadership, Role, Tenure, Timing};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Arena {
    plane: &'static ControlPlane,
    pub namespace: String,
    /// A common clock of all candidates, so that their times can be compared.
    pub env: Env,
}

impl Arena {
    /// `None` without a control plane.
    pub async fn new(namespace: &str) -> Option<Self> {
        let arena = Self::without_namespace(namespace).await?;
        arena.create_namespace().await;
        Some(arena)
    }

    pub async fn without_namespace(namespace: &str) -> Option<Self> {
        let plane = ControlPlane::shared().await.unwrap()?;
        Some(Self { plane, namespace: namespace.to_owned(), env: Env::real() })
    }

    pub async fn create_namespace(&self) {
        let namespaces: Api<Namespace> = Api::all(self.admin());
        let object = json!({"metadata": {"name": self.namespace}});
        create(&namespaces, object).await;
    }

    pub fn admin(&self) -> Client {
        self.plane.client().unwrap()
    }

    pub fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.admin(), &self.namespace)
    }

    /// Creates a Lease that no candidate wrote.
    pub async fn create_lease(&self, name: &str, spec: serde_json::Value) {
        create(&self.leases(), json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    pub fn candidate(&self, name: &str, timing: Timing) -> Candidate {
        self.candidate_with(self.admin(), LEASE, name, timing)
    }

    pub fn candidate_with(
        &self,
        client: Client,
        lease: &str,
        name: &str,
        timing: Timing,
    ) -> Candidate {
        self.process_of(client, lease, (name, None), timing)
    }

    /// A process, in a pod or without a pod.
    pub fn process_of(
        &self,
        client: Client,
        lease: &str,
        (name, pod): (&str, Option<&str>),
        timing: Timing,
    ) -> Candidate {
        let identity = Identity::new(name, pod, &self.env.token());
        let config = Config {
            namespace: self.namespace.clone(),
            name: lease.to_owned(),
            identity: identity.clone(),
            timing,
            provider_timeout: CALL,
        };
        let (leadership, election) = Leadership::start(client, self.env.clone(), config);
        let frozen = Arc::new(Notify::new());
        let freeze = frozen.clone();
        let task = tokio::spawn(async move {
            let mut election = std::pin::pin!(election);
            tokio::select! {
                biased;
                // The loop is no longer polled, and not dropped.
                () = freeze.notified() => std::future::pending().await,
                () = &mut election => {}
            }
        });
        let identity = identity.as_str().to_owned();
        Candidate { leadership, identity, frozen, task }
    }

    /// A client for a new service account without rights.
    pub async fn service_account(&self, name: &str) -> Client {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin(), &self.namespace);
        create(&accounts, json!({"metadata": {"name": name}})).await;
        let path = self.plane.kubeconfig_for(&self.namespace, name).await.unwrap();
        client(path).await
    }

    /// Grants the minimal rights for an election.
    pub async fn grant(&self, account: &str) {
        let group = ["coordination.k8s.io"];
        let role = json!({
            "metadata": {"name": account},
            "rules": [
                {"apiGroups": group, "resources": ["leases"], "verbs": ["create"]},
                {"apiGroups": group, "resources": ["leases"], "resourceNames": [LEASE],
                 "verbs": ["get", "list", "watch", "update"]},
            ],
        });
        create(&Api::<RbacRole>::namespaced(self.admin(), &self.namespace), role).await;
        self.grant_again(account).await;
    }

    pub async fn grant_again(&self, account: &str) {
        let binding = json!({
            "metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}],
        });
        create(&Api::<RoleBinding>::namespaced(self.admin(), &self.namespace), binding).await;
    }

    pub async fn revoke(&self, account: &str) {
        let bindings: Api<RoleBinding> = Api::namespaced(self.admin(), &self.namespace);
        bindings.delete(account, &DeleteParams::default()).await.unwrap();
    }

    /// Number of requests about Leases of this test's namespace with the answer `code`.
    pub fn answered(&self, verb: &str, code: u16) -> usize {
        let concerns = |entry: &AuditEntry| {
            entry.resource == "leases" && entry.namespace == self.namespace && entry.verb == verb
        };
        let log = self.plane.audit_log().unwrap();
        log.iter().filter(|entry| concerns(entry) && entry.code == code).count()
    }
}

/// The hard deadline of the candidates' simulated calls.
pub const CALL: Duration = Duration::from_millis(500);

/// A short lease with the semantics of the default: 3 s / 2 s / 0.5 s, guard 2.1 s.
pub fn short() -> Timing {
    Timing {
        lease: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(500),
        margin: Duration::from_millis(250),
        settle: Duration::from_secs(3),
    }
}

pub struct Candidate {
    pub leadership: Leadership,
    pub identity: String,
    frozen: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Candidate {
    /// Waits until this candidate leads.
    pub async fn leads(&self) -> Tenure {
        let mut role = self.leadership.role();
        let leads = role.wait_for(|role| matches!(role, Role::Leader(_)));
        match *timeout(LIMIT, leads).await.expect("should lead in time").unwrap() {
            Role::Leader(tenure) => tenure,
            Role::Follower { .. } => unreachable!("waited for a leader"),
        }
    }

    /// Waits until this candidate follows `leader`.
    pub async fn follows(&self, leader: &Candidate) {
        let expected = Role::Follower { leader: Some(leader.identity.clone()) };
        let mut role = self.leadership.role();
        let follows = role.wait_for(|role| *role == expected);
        drop(timeout(LIMIT, follows).await.expect("should follow in time").unwrap());
    }

    /// Stops the loop without dropping it, like a paused process.
    pub fn freeze(&self) {
        self.frozen.notify_one();
    }

    /// `kill -9`.
    pub async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    /// Waits until the loop has ended by itself.
    pub async fn ended(self) {
        timeout(LIMIT, self.task).await.expect("should end in time").unwrap();
    }
}

/// Waits for a condition, polling often.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let asking = async {
        while !condition() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LIMIT, asking).await.unwrap_or_else(|_| panic!("should happen in time: {what}"));
}

/// Waits until `new` may act, and asserts that by then all calls that `old` was permitted to start
/// have taken effect. Returns the time without a permit.
pub async fn handed_over(
    arena: &Arena,
    old: &Candidate,
    new: &Candidate,
    settle: Duration,
) -> Duration {
    let mut last = Duration::ZERO;
    let mut first = Duration::ZERO;
    until("the new leader may act", || {
        // Times on the unsafe side: before the old leader's answer, after the new leader's.
        let before = arena.env.elapsed();
        if old.leadership.permit().is_ok() {
            last = before;
        }
        let permitted = new.leadership.permit().is_ok();
        first = arena.env.elapsed();
        permitted
    })
    .await;
    assert!(last > Duration::ZERO, "the old leader was never seen to lead");
    assert!(first >= last + CALL + settle, "{:?} apart", first - last);
    assert!(old.leadership.permit().is_err(), "two may act");
    assert!(!old.leadership.leads(), "two lead");
    first - last
}

async fn create<K>(api: &Api<K>, object: serde_json::Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn client(kubeconfig: PathBuf) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    config.proxy_url = None;
    Client::try_from(config).unwrap()
}
