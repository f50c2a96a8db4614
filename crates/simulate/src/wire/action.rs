//! Classifies requests by method, path and body.

use http::Method;
use pontoon::leadership::PREDECESSORS_LEASE;
use serde::{Deserialize, Serialize};

/// The purpose of a request to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudAction {
    /// Lists addresses.
    List,
    /// Lists IPv6 addresses.
    ListSix,
    /// Checks whether the token may see machines.
    SeeMachines,
    /// Reads a single address.
    ReadAddress,
    /// Reads the state of an operation.
    ReadOperation,
    /// Assigns an address.
    Assign,
    /// Unassigns an address.
    Unassign,
    /// Reserves an address on a machine.
    CreateOn,
    /// Reserves an address in a region.
    CreateIn,
    /// Reserves an IPv6 address.
    CreateSix,
    /// Releases an address.
    Release,
    /// Lists the records of a name at DigitalOcean.
    ReadRecords,
    /// Adds a record at DigitalOcean.
    AddRecord,
    /// Changes a record at DigitalOcean.
    EditRecord,
    /// Deletes a record at DigitalOcean.
    DropRecord,
    /// Looks up a zone at Cloudflare.
    FindZone,
    /// Lists the records of a name at Cloudflare.
    ReadName,
    /// Changes the records of a name at Cloudflare.
    ChangeName,
    /// A request without a reason.
    Other,
}

impl CloudAction {
    /// All actions with a reason, except [`SeeMachines`](Self::SeeMachines): this check is made
    /// only if the token may not see machines, so no other fault can meet the check.
    pub const ALL: [Self; 17] = [
        Self::List,
        Self::ListSix,
        Self::ReadAddress,
        Self::ReadOperation,
        Self::Assign,
        Self::Unassign,
        Self::CreateOn,
        Self::CreateIn,
        Self::CreateSix,
        Self::Release,
        Self::ReadRecords,
        Self::AddRecord,
        Self::EditRecord,
        Self::DropRecord,
        Self::FindZone,
        Self::ReadName,
        Self::ChangeName,
    ];

    /// Classifies a request.
    pub fn of(method: &Method, path: &str, body: &serde_json::Value) -> Self {
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        match (method, segments.as_slice()) {
            (&Method::GET, ["v2", "reserved_ipv6"]) => Self::ListSix,
            (&Method::POST, ["v2", "reserved_ipv6"]) => Self::CreateSix,
            (&Method::GET, ["v2", "actions", _]) => Self::ReadOperation,
            (&Method::GET, ["v2", "droplets"]) => Self::SeeMachines,
            (&Method::DELETE, ["v2", "reserved_ips" | "reserved_ipv6", _]) => Self::Release,
            (&Method::GET, ["v2", "reserved_ips"]) => Self::List,
            (&Method::GET, ["v2", "reserved_ips" | "reserved_ipv6", _]) => Self::ReadAddress,
            (&Method::GET, ["v2", "reserved_ips", _, "actions", _]) => Self::ReadOperation,
            (&Method::POST, ["v2", "reserved_ips" | "reserved_ipv6", _, "actions"]) => {
                match body["type"].as_str() {
                    Some("assign") => Self::Assign,
                    Some("unassign") => Self::Unassign,
                    _ => Self::Other,
                }
            }
            (&Method::POST, ["v2", "reserved_ips"]) if body["droplet_id"].is_u64() => {
                Self::CreateOn
            }
            (&Method::POST, ["v2", "reserved_ips"]) => Self::CreateIn,
            (method, ["v2", "domains", _, "records", rest @ ..]) => Self::of_records(method, rest),
            (method, ["client", "v4", "zones", rest @ ..]) => Self::of_zones(method, rest),
            _ => Self::Other,
        }
    }

    fn of_records(method: &Method, rest: &[&str]) -> Self {
        match (method, rest) {
            (&Method::GET, []) => Self::ReadRecords,
            (&Method::POST, []) => Self::AddRecord,
            (&Method::PUT | &Method::PATCH, [_]) => Self::EditRecord,
            (&Method::DELETE, [_]) => Self::DropRecord,
            _ => Self::Other,
        }
    }

    fn of_zones(method: &Method, rest: &[&str]) -> Self {
        match (method, rest) {
            (&Method::GET, [] | [_]) => Self::FindZone,
            (&Method::GET, [_, "dns_records"]) => Self::ReadName,
            (&Method::POST, [_, "dns_records", "batch"]) => Self::ChangeName,
            _ => Self::Other,
        }
    }

    /// Whether the action concerns DNS.
    pub fn is_of_names(self) -> bool {
        matches!(
            self,
            Self::ReadRecords
                | Self::AddRecord
                | Self::EditRecord
                | Self::DropRecord
                | Self::FindZone
                | Self::ReadName
                | Self::ChangeName
        )
    }

    /// Whether the action is a change.
    pub fn changes(self) -> bool {
        let reads = matches!(
            self,
            Self::ReadAddress
                | Self::ReadOperation
                | Self::SeeMachines
                | Self::ReadRecords
                | Self::FindZone
                | Self::ReadName
        );
        !self.lists() && !reads
    }

    /// Whether the action lists addresses.
    pub fn lists(self) -> bool {
        matches!(self, Self::List | Self::ListSix)
    }

    /// Whether the action reserves an address.
    pub fn creates(self) -> bool {
        matches!(self, Self::CreateOn | Self::CreateIn | Self::CreateSix)
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list addresses",
            Self::ListSix => "list IPv6 addresses",
            Self::SeeMachines => "see machines",
            Self::ReadAddress => "read address",
            Self::ReadOperation => "read operation",
            Self::Assign => "assign",
            Self::Unassign => "unassign",
            Self::CreateOn => "reserve on a machine",
            Self::CreateIn => "reserve in a region",
            Self::CreateSix => "reserve an IPv6 address",
            Self::Release => "give back",
            Self::ReadRecords => "list records",
            Self::AddRecord => "add a record",
            Self::EditRecord => "edit a record",
            Self::DropRecord => "delete a record",
            Self::FindZone => "find a zone",
            Self::ReadName => "list a name",
            Self::ChangeName => "change a name",
            Self::Other => "something else",
        }
    }
}

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
    /// Writes a node's annotation.
    Mark,
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
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Nodes, Self::Pods, Self::Pools, Self::RecordSets, Self::Definitions, Self::Leases];

    fn plural(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Pools => "floatingippools",
            Self::RecordSets => "nodednsrecordsets",
            Self::Definitions => "customresourcedefinitions",
            Self::Leases => "leases",
        }
    }
}

impl ApiAction {
    /// All actions with a reason.
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

    /// Classifies a request.
    pub fn of(method: &Method, path: &str, query: &str) -> Self {
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        let is = |plural: &str| segments.contains(&plural);
        let is_list = |kind: &Kind| segments.last() == Some(&kind.plural());
        let kind = Kind::ALL.into_iter().find(is_list);
        let named_lease = is("leases") && kind.is_none();
        match *method {
            Method::GET if query.contains("watch=true") => kind.map_or(Self::Other, Self::Watch),
            Method::GET if named_lease => Self::ReadLease,
            Method::GET if path == "/api/v1/namespaces/kube-system" => Self::ReadCluster,
            Method::GET => kind.map_or(Self::Other, Self::List),
            Method::POST if kind == Some(Kind::Leases) => Self::CreateLease,
            Method::PUT if is(PREDECESSORS_LEASE) => Self::HoldTheirs,
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
            Method::PATCH if is("floatingippools") => Self::WriteLedger,
            _ => Self::Other,
        }
    }

    /// Whether the action is a change.
    pub fn changes(self) -> bool {
        !matches!(self, Self::List(_) | Self::Watch(_) | Self::ReadLease | Self::ReadCluster)
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
            Self::Watch(Kind::Nodes) => "watch nodes",
            Self::Watch(Kind::Pods) => "watch pods",
            Self::Watch(Kind::Pools) => "watch pools",
            Self::Watch(Kind::RecordSets) => "watch record sets",
            Self::Watch(Kind::Definitions) => "watch definitions",
            Self::Watch(Kind::Leases) => "watch the lease",
            Self::ReadLease => "read the lease",
            Self::CreateLease => "make the lease",
            Self::ReplaceLease => "replace the lease",
            Self::HoldTheirs => "hold the predecessor's lease",
            Self::WriteLedger => "write a ledger",
            Self::WriteStatus => "write a status",
            Self::WriteListing => "write a record set's status",
            Self::Mark => "mark a node",
            Self::Tell => "tell an event",
            Self::ReadCluster => "read which cluster this is",
            Self::Other => "something else",
        }
    }
}
