//! Classifies requests to the API server by method and path. The emulated vendors classify theirs.

use http::Method;
use pontoon::fronts::net_ip_allocation::{EVICT_ANNOTATION, READY_LABEL};
use pontoon::fronts::{self, EGRESS};
use serde::{Deserialize, Serialize};

use crate::process::Effect;

/// The purpose of a request to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiAction {
    /// Lists objects of a kind.
    List(Kind),
    /// Watches objects of a kind.
    Watch(Kind),
    /// Reads the Lease.
    ReadLease,
    /// Creates the Lease.
    CreateLease,
    /// Renews, takes or releases the Lease.
    ReplaceLease,
    /// Takes, renews or releases the predecessor's Lease.
    HoldTheirs,
    /// Writes a pool's ledger, together with the finalizer.
    WriteLedger,
    /// Writes a pool's status.
    WriteStatus,
    /// Writes a NodeDNSRecordSet's status.
    WriteListing,
    /// Writes a node's annotation with its address.
    Mark,
    /// Writes the label of nodes that serve an address.
    Label,
    /// Notes that a node's machine is owed an address, or removes the note.
    NoteEgress,
    /// Notes that pods are to be evicted from a node, or removes the note.
    NoteEviction,
    /// Evicts a pod.
    Evict,
    /// Writes an allocation's status.
    WriteAllocation,
    /// Creates a claim.
    CreateClaim,
    /// Reads a claim.
    ReadClaim,
    /// Writes the owners and labels of a claim.
    AdoptClaim,
    /// Deletes a claim.
    DeleteClaim,
    /// Writes the endpoint of a Cluster.
    WriteEndpoint,
    /// Writes the ingress VIP of a Cluster.
    WriteIngress,
    /// Writes the condition of a Cluster.
    WriteCluster,
    /// Creates or rewrites a holder.
    KeepHolder,
    /// Deletes a holder.
    DropHolder,
    /// Creates or updates an Event.
    Tell,
    /// Reads the identity of the cluster.
    ReadCluster,
    /// A request without a reason.
    Other,
}

/// A watched kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Node.
    Nodes,
    /// Pod.
    Pods,
    /// FloatingIPPool.
    Pools,
    /// NodeDNSRecordSet.
    RecordSets,
    /// CustomResourceDefinition.
    Definitions,
    /// Lease.
    Leases,
    /// NetIPAllocation.
    Allocations,
    /// ReplicaSet.
    ReplicaSets,
    /// Cluster.
    Clusters,
    /// ClusterClass.
    Classes,
    /// IPAddressClaim.
    Claims,
    /// IPAddress.
    VipAddresses,
    /// GlobalInClusterIPPool.
    GlobalPools,
    /// InClusterIPPool.
    LocalPools,
    /// ConfigMap.
    Holders,
}

impl Kind {
    /// The kinds without allocations.
    const ALL: [Self; 6] =
        [Self::Nodes, Self::Pods, Self::Pools, Self::RecordSets, Self::Definitions, Self::Leases];

    /// The kinds that only allocations need.
    const OF_ALLOCATIONS: [Self; 2] = [Self::Allocations, Self::ReplicaSets];

    /// The kinds that only VIPs need.
    const OF_VIPS: [Self; 7] = [
        Self::Clusters,
        Self::Classes,
        Self::Claims,
        Self::VipAddresses,
        Self::GlobalPools,
        Self::LocalPools,
        Self::Holders,
    ];

    /// All kinds.
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::OF_ALLOCATIONS).chain(Self::OF_VIPS)
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Pools => "floatingippools",
            Self::RecordSets => "nodednsrecordsets",
            Self::Definitions => "customresourcedefinitions",
            Self::Leases => "leases",
            Self::Allocations => "netipallocations",
            Self::ReplicaSets => "replicasets",
            Self::Clusters => "clusters",
            Self::Classes => "clusterclasses",
            Self::Claims => "ipaddressclaims",
            Self::VipAddresses => "ipaddresses",
            Self::GlobalPools => "globalinclusterippools",
            Self::LocalPools => "inclusterippools",
            Self::Holders => "configmaps",
        }
    }
}

impl ApiAction {
    /// All actions with a reason, without allocations at Google Cloud.
    pub fn all() -> impl Iterator<Item = Self> {
        let lists = Kind::ALL.into_iter().map(Self::List);
        let watches = Kind::ALL.into_iter().map(Self::Watch);
        let others = [
            Self::ReadLease,
            Self::CreateLease,
            Self::ReplaceLease,
            Self::HoldTheirs,
            Self::WriteLedger,
            Self::WriteStatus,
            Self::WriteListing,
            Self::Mark,
            Self::Tell,
            Self::ReadCluster,
        ];
        lists.chain(watches).chain(others)
    }

    /// The actions that only allocations, and pools at Google Cloud, need.
    pub fn of_allocations() -> impl Iterator<Item = Self> {
        let lists = Kind::OF_ALLOCATIONS.into_iter().map(Self::List);
        let watches = Kind::OF_ALLOCATIONS.into_iter().map(Self::Watch);
        let others =
            [Self::Label, Self::NoteEgress, Self::NoteEviction, Self::Evict, Self::WriteAllocation];
        lists.chain(watches).chain(others)
    }

    /// The actions that only VIPs need, without reads of kinds that seldom change.
    pub fn of_vips() -> impl Iterator<Item = Self> {
        let kinds = [Kind::Clusters, Kind::Claims];
        let lists = kinds.into_iter().map(Self::List);
        let watches = kinds.into_iter().map(Self::Watch);
        lists.chain(watches).chain(Self::VIP_WRITES)
    }

    /// The writes for VIPs, and the read before one of them.
    pub const VIP_WRITES: [Self; 9] = [
        Self::CreateClaim,
        Self::ReadClaim,
        Self::AdoptClaim,
        Self::DeleteClaim,
        Self::WriteEndpoint,
        Self::WriteIngress,
        Self::WriteCluster,
        Self::KeepHolder,
        Self::DropHolder,
    ];

    /// Tells the writes of a node's marks apart.
    #[must_use]
    pub fn of_mark(self, body: &[u8]) -> Self {
        let has = |key: &str| body.windows(key.len()).any(|part| part == key.as_bytes());
        match self {
            Self::Mark if has(READY_LABEL) => Self::Label,
            Self::Mark if has(EGRESS.key) => Self::NoteEgress,
            Self::Mark if has(EVICT_ANNOTATION) => Self::NoteEviction,
            other => other,
        }
    }

    /// Whether the action writes a mark of a node.
    pub fn marks(self) -> bool {
        matches!(self, Self::Mark | Self::Label | Self::NoteEgress | Self::NoteEviction)
    }

    /// Classifies a request.
    pub fn of(method: &Method, path: &str, query: &str) -> Self {
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        let is = |plural: &str| segments.contains(&plural);
        let is_list = |kind: &Kind| segments.last() == Some(&kind.plural());
        let kind = Kind::all().find(is_list);
        let theirs = || fronts::predecessors().any(|one| is(one.lease));
        let named_lease = is("leases") && kind.is_none();
        match *method {
            Method::GET if query.contains("watch=true") => kind.map_or(Self::Other, Self::Watch),
            Method::GET if named_lease => Self::ReadLease,
            Method::GET if path == "/api/v1/namespaces/kube-system" => Self::ReadCluster,
            Method::GET if is("ipaddressclaims") && kind.is_none() => Self::ReadClaim,
            Method::GET => kind.map_or(Self::Other, Self::List),
            _ if is("ipaddressclaims") || is("clusters") || is("configmaps") => {
                Self::of_vip(method, &segments, query)
            }
            Method::POST if kind == Some(Kind::Leases) => Self::CreateLease,
            Method::PUT if theirs() => Self::HoldTheirs,
            Method::POST if is("pods") && segments.last() == Some(&"eviction") => Self::Evict,
            Method::PUT if named_lease => Self::ReplaceLease,
            Method::POST | Method::PATCH if is("events") => Self::Tell,
            Method::PATCH if is("nodes") && segments.len() == 4 => Self::Mark,
            Method::PUT | Method::PATCH
                if is("floatingippools") && segments.last() == Some(&"status") =>
            {
                Self::WriteStatus
            }
            Method::PUT | Method::PATCH
                if is("nodednsrecordsets") && segments.last() == Some(&"status") =>
            {
                Self::WriteListing
            }
            Method::PUT | Method::PATCH
                if is("netipallocations") && segments.last() == Some(&"status") =>
            {
                Self::WriteAllocation
            }
            Method::PATCH if is("floatingippools") || is("netipallocations") => Self::WriteLedger,
            _ => Self::Other,
        }
    }

    /// Classifies a write for VIPs.
    fn of_vip(method: &Method, segments: &[&str], query: &str) -> Self {
        let is = |plural: &str| segments.contains(&plural);
        match *method {
            Method::PATCH if is("clusters") && segments.last() == Some(&"status") => {
                Self::WriteCluster
            }
            Method::PATCH if is("clusters") && query.contains("fieldManager=pontoon-endpoint") => {
                Self::WriteEndpoint
            }
            Method::PATCH if is("clusters") && query.contains("fieldManager=pontoon-ingress") => {
                Self::WriteIngress
            }
            Method::POST if is("ipaddressclaims") => Self::CreateClaim,
            Method::PATCH if is("ipaddressclaims") => Self::AdoptClaim,
            Method::DELETE if is("ipaddressclaims") => Self::DeleteClaim,
            Method::POST | Method::PATCH if is("configmaps") => Self::KeepHolder,
            Method::DELETE if is("configmaps") => Self::DropHolder,
            _ => Self::Other,
        }
    }

    /// Whether the action is a change.
    pub fn changes(self) -> bool {
        !matches!(
            self,
            Self::List(_) | Self::Watch(_) | Self::ReadLease | Self::ReadCluster | Self::ReadClaim
        )
    }

    /// The effect of the action on the cluster.
    pub fn effect(self) -> Effect {
        match self {
            Self::ReplaceLease | Self::HoldTheirs => Effect::Renewal,
            _ => Effect::of(self.changes()),
        }
    }

    /// Whether the action writes a Lease.
    pub fn elects(self) -> bool {
        matches!(self, Self::CreateLease | Self::ReplaceLease | Self::HoldTheirs)
    }

    /// Whether it is a watch.
    pub fn watches(self) -> bool {
        matches!(self, Self::Watch(_))
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::List(Kind::Nodes) => "list nodes",
            Self::List(Kind::Pods) => "list pods",
            Self::List(Kind::Pools) => "list pools",
            Self::List(Kind::RecordSets) => "list record sets",
            Self::List(Kind::Definitions) => "list definitions",
            Self::List(Kind::Leases) => "list the lease",
            Self::List(Kind::Allocations) => "list allocations",
            Self::List(Kind::ReplicaSets) => "list replica sets",
            Self::List(Kind::Clusters) => "list Clusters",
            Self::List(Kind::Classes) => "list classes",
            Self::List(Kind::Claims) => "list claims",
            Self::List(Kind::VipAddresses) => "list addresses of claims",
            Self::List(Kind::GlobalPools) => "list global VIP pools",
            Self::List(Kind::LocalPools) => "list VIP pools of namespaces",
            Self::List(Kind::Holders) => "list holders",
            Self::Watch(Kind::Nodes) => "watch nodes",
            Self::Watch(Kind::Pods) => "watch pods",
            Self::Watch(Kind::Pools) => "watch pools",
            Self::Watch(Kind::RecordSets) => "watch record sets",
            Self::Watch(Kind::Definitions) => "watch definitions",
            Self::Watch(Kind::Leases) => "watch the lease",
            Self::Watch(Kind::Allocations) => "watch allocations",
            Self::Watch(Kind::ReplicaSets) => "watch replica sets",
            Self::Watch(Kind::Clusters) => "watch Clusters",
            Self::Watch(Kind::Classes) => "watch classes",
            Self::Watch(Kind::Claims) => "watch claims",
            Self::Watch(Kind::VipAddresses) => "watch addresses of claims",
            Self::Watch(Kind::GlobalPools) => "watch global VIP pools",
            Self::Watch(Kind::LocalPools) => "watch VIP pools of namespaces",
            Self::Watch(Kind::Holders) => "watch holders",
            Self::ReadLease => "read the lease",
            Self::CreateLease => "make the lease",
            Self::ReplaceLease => "replace the lease",
            Self::HoldTheirs => "hold the predecessor's lease",
            Self::WriteLedger => "write a ledger",
            Self::WriteStatus => "write a status",
            Self::WriteListing => "write a record set's status",
            Self::Mark => "mark a node",
            Self::Label => "label a node",
            Self::NoteEgress => "note what a machine is owed",
            Self::NoteEviction => "note evictions",
            Self::Evict => "evict a pod",
            Self::WriteAllocation => "write an allocation's status",
            Self::CreateClaim => "create a claim",
            Self::ReadClaim => "read a claim",
            Self::AdoptClaim => "tie a claim",
            Self::DeleteClaim => "delete a claim",
            Self::WriteEndpoint => "write an endpoint",
            Self::WriteIngress => "write an ingress VIP",
            Self::WriteCluster => "write a Cluster's condition",
            Self::KeepHolder => "keep a holder",
            Self::DropHolder => "drop a holder",
            Self::Tell => "tell an event",
            Self::ReadCluster => "read which cluster this is",
            Self::Other => "something else",
        }
    }
}
