//! The nouns: nodes, pods, pools, addresses, records. Plain values, already validated.

mod address;
mod kind;
mod mark;
mod name;
mod node;
mod pool;
mod record;

pub use address::{Families, Family, Sighting};
pub use kind::{Kind, Scope, Subject};
pub use mark::{Mark, MarkPlace, Marks, Tells};
pub use name::{AccountId, Machine, MachineId, NodeName, ObjectKey, OperationId, PodId, Text};
pub use node::{Addresses, Effect, Labels, Node, Owner, Pod, PodState, Taint, Unnamed};
pub use pool::{
    Drift, Evicts, Finding, Intent, Ledger, Pool, PoolNames, Remembered, Request, Resolution,
};
pub use record::{
    EmptyPolicy, Held, NodeAddress, Record, RecordChange, RecordNames, RecordRequest, RecordSet,
    RecordSource, Site,
};
