//! A management cluster, for scenarios and for the benchmark: neither nodes nor clouds nor kinds of ours,
//! but Cluster API's definitions, an IPAM provider, and the operator with the rights that are shipped.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use control_plane::{AuditEntry, ControlPlane, Generation};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::arena::eventually;
use crate::replica::{Replica, Start};

/// The namespace of the operator.
pub const HOME: &str = "pontoon-system";

/// The operator's user.
pub const USER: &str = "system:serviceaccount:pontoon-system:pontoon";

/// The shipped rights: those of the chart, rendered.
const RIGHTS: &str = "../../deploy/base/rbac.yaml";

/// The rights that the chart adds for holders.
const HOLDERS: [&str; 2] = [
    "create clusterrole holders --verb=list,watch,create,patch,delete --resource=configmaps",
    "create clusterrolebinding holders --clusterrole=holders --serviceaccount=pontoon-system:pontoon",
];

/// A plane of a generation, shared by all scenarios of this process.
pub struct Management {
    pub generation: Generation,
    pub plane: ControlPlane,
    account: PathBuf,
    /// Whether the operator of `common` may run: shared by scenarios that need no other.
    turn: RwLock<()>,
    common: Mutex<Option<Replica>>,
}

/// The operator of a scenario.
pub enum Operator {
    /// Shared with other scenarios.
    Common(#[expect(dead_code, reason = "held")] RwLockReadGuard<'static, ()>),
    /// The only operator of the management cluster.
    Own {
        #[expect(dead_code, reason = "held")]
        turn: RwLockWriteGuard<'static, ()>,
        /// `None` while stopped.
        process: Option<Replica>,
        /// When the first one was started.
        since: Timestamp,
    },
}

impl Operator {
    /// The operator of the scenario alone, to be stopped or replaced.
    pub fn own(&mut self) -> &mut Option<Replica> {
        match self {
            Self::Common(_) => panic!("a shared operator"),
            Self::Own { process, .. } => process,
        }
    }

    /// When the operator of the scenario alone was started.
    pub fn since(&self) -> Timestamp {
        match self {
            Self::Common(_) => panic!("a shared operator"),
            Self::Own { since, .. } => *since,
        }
    }
}

impl Management {
    /// The management cluster of a generation; `None` without a control plane.
    pub async fn of(generation: Generation) -> Option<&'static Self> {
        static OLDER: OnceCell<Option<Management>> = OnceCell::const_new();
        static NEWER: OnceCell<Option<Management>> = OnceCell::const_new();
        let cell = match generation {
            Generation::V1Beta1 => &OLDER,
            Generation::V1Beta2 => &NEWER,
        };
        cell.get_or_init(|| Self::start(generation)).await.as_ref()
    }

    async fn start(generation: Generation) -> Option<Self> {
        let plane = ControlPlane::start().await.unwrap()?;
        if !plane.ipam_provider(generation).await.unwrap() {
            return None;
        }
        let controllers = ["garbage-collector-controller", "namespace-controller"];
        plane.controller_manager(&controllers).await.unwrap();
        let account = account(&plane).await;
        let (turn, common) = (RwLock::new(()), Mutex::new(None));
        Some(Self { generation, plane, account, turn, common })
    }

    /// The operator that scenarios share, started by the first one.
    pub async fn common(&'static self) -> Operator {
        let turn = self.turn.read().await;
        let mut common = self.common.lock().unwrap();
        if common.is_none() {
            *common = Some(self.operator("common", &["--leader-elect=false"]));
        }
        Operator::Common(turn)
    }

    /// An operator of the scenario alone, once no other scenario needs the shared one.
    pub async fn own(&'static self, flags: &[&str]) -> Operator {
        let turn = self.turn.write().await;
        let common = self.common.lock().unwrap().take();
        if let Some(common) = common {
            common.kill();
        }
        let since = Timestamp::now();
        Operator::Own { turn, process: Some(self.operator("own", flags)), since }
    }

    /// Starts an operator, which ends with the plane at the latest.
    pub fn operator(&self, name: &str, flags: &[&str]) -> Replica {
        Replica::spawn(Start {
            name,
            folder: self.plane.folder(),
            kubeconfig: &self.account,
            group: Some(self.plane.process_group()),
            extra: &[&["POD_NAMESPACE=pontoon-system"], flags].concat(),
        })
    }

    /// The requests of an operator that has ended, since a time. The watch of Clusters is logged at its
    /// end, after all other requests.
    pub async fn requests_since(&self, time: Timestamp) -> Vec<AuditEntry> {
        eventually("the end of a watch of Clusters is logged", || async {
            let mut log = self.plane.audit_log().unwrap();
            log.retain(|one| one.user == USER && one.received > time);
            let is_end = |one: &AuditEntry| one.verb == "watch" && one.resource == "clusters";
            if log.iter().any(is_end) { Ok(log) } else { Err(log.len()) }
        })
        .await
    }

    /// A page of the shared operator.
    pub async fn page(&self, path: &str) -> String {
        let port = self.common.lock().unwrap().as_ref().map(Replica::port);
        let Some(port) = port else { return String::new() };
        crate::replica::page(port, path).await.unwrap_or_default()
    }

    /// The log of the shared operator.
    pub fn log(&self) -> String {
        self.common.lock().unwrap().as_ref().map(Replica::log).unwrap_or_default()
    }
}

/// A service account with the shipped rights.
async fn account(plane: &ControlPlane) -> PathBuf {
    let namespaces: Api<Namespace> = Api::all(plane.client().unwrap());
    for name in [HOME, "capi-system"] {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    }
    let rights = Path::new(env!("CARGO_MANIFEST_DIR")).join(RIGHTS);
    kubectl(plane, &["apply", "-f", rights.to_str().unwrap()]);
    for command in HOLDERS {
        kubectl(plane, &command.split(' ').collect::<Vec<_>>());
    }
    plane.kubeconfig_for(HOME, "pontoon").await.unwrap()
}

fn kubectl(plane: &ControlPlane, args: &[&str]) {
    let done = plane.kubectl().args(args).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}
