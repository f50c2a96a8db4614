//! What every cloud can do with an address, in words that no vendor owns.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::record::RecordProvider;

/// One cloud account's addresses.
///
/// Each mutating method sends exactly one mutating request (vendors that need more say so
/// in [`Capabilities`]), and each is safe to call again: "already so" is success. An error's
/// [`kind`](crate::ErrorKind) tells whether the request can have had an effect. The deadline
/// of a call holds for each request; a refused change may be followed by reads of the
/// address, so that the method as a whole can take longer.
#[async_trait]
pub trait AddressProvider: Send + Sync + fmt::Debug {
    /// What this cloud can and cannot do.
    fn capabilities(&self) -> Capabilities;

    /// The project that new addresses are reserved in, if one was set aside for them:
    /// whatever appears there is ours.
    fn dedicated_project(&self) -> Option<&str> {
        None
    }

    /// The DNS of the same account, where the vendor has that too
    /// ([`Vendor::dns`](crate::Vendor)): one credential, and one budget for all its calls.
    fn records(&self) -> Option<Arc<dyn RecordProvider>> {
        None
    }

    /// Every address of the account in `families`, all pages. An address that is missing
    /// here may still exist (pages shift while they are read): only [`read`](Self::read)
    /// proves that one is gone.
    async fn list(&self, families: Families) -> Result<Vec<Address>>;

    /// The same listing where a move waits to be confirmed by it: more urgent than one that
    /// is made in its turn.
    async fn confirm(&self, families: Families) -> Result<Vec<Address>> {
        self.list(families).await
    }

    /// One address, or `None` if the cloud says that the account has no such address.
    async fn read(&self, ip: IpAddr) -> Result<Option<Address>>;

    /// Puts `ip` on `machine`, from wherever it is now.
    async fn assign(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted>;

    /// Takes `ip` off its machine and keeps it in the account.
    async fn unassign(&self, ip: IpAddr) -> Result<Accepted>;

    /// Reserves a new address.
    async fn create(&self, request: &CreateRequest) -> Result<Created>;

    /// Gives `ip` back to the cloud. Gone already is success.
    async fn release(&self, ip: IpAddr) -> Result<()>;

    /// How an accepted operation on `ip` is getting on.
    async fn operation(&self, ip: IpAddr, operation: &OperationId) -> Result<OperationState>;
}

/// A machine as the vendor names it, normalised so that equal machines are equal text
/// (DigitalOcean: the droplet's number).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(pub String);

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An operation that the cloud works on after it answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationId(pub String);

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Which families a listing should cover; vendors keep them in separate collections, so
/// that asking for less costs fewer calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    /// List IPv4 addresses.
    pub v4: bool,
    /// List IPv6 addresses.
    pub v6: bool,
}

/// One address as the cloud shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address itself.
    pub ip: IpAddr,
    /// The machine that it is on.
    pub holder: Option<MachineId>,
    /// The vendor's region, if it has one.
    pub region: Option<String>,
    /// The vendor's project or group, if it has one.
    pub project: Option<String>,
    /// The cloud is working on it: a new operation would be refused.
    pub busy: bool,
}

/// What a cloud can do; the planner reads this, so that nothing is "not implemented" at
/// run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A held address is moved by one call.
    pub atomic_move: bool,
    /// A machine carries at most this many addresses of one family.
    pub addresses_per_machine: usize,
    /// IPv6 addresses can be assigned.
    pub ipv6: bool,
    /// New addresses carry a mark by which they are found again after a crash; without it
    /// the target machine is the mark.
    pub marks_created: bool,
    /// The families whose new addresses can be put on a machine by the creating call. Where
    /// this and [`marks_created`](Self::marks_created) are false, a lost answer to a
    /// creation leaves an address that nothing but its age tells apart.
    pub places_created: Families,
}

/// A new address to reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRequest {
    /// IP version.
    pub family: Family,
    /// Region to reserve in.
    pub region: String,
    /// Put it on this machine in the same call, where [`Capabilities::places_created`]
    /// allows it; elsewhere it is left free. Where [`Capabilities::marks_created`] is false
    /// this is how the address is recognised after a lost answer.
    pub machine: Option<MachineId>,
}

/// The cloud took the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is done, and a read would show it.
    Done,
    /// The cloud works on it; poll with [`AddressProvider::operation`], or list.
    Pending(OperationId),
}

/// A reserved address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The new address.
    pub ip: IpAddr,
    /// How far its placement on the requested machine is; `None` if it is on no machine and
    /// will not get there by itself: none was asked for, or the vendor places by a call of
    /// its own ([`AddressProvider::assign`]).
    pub placement: Option<Accepted>,
}

/// State of an accepted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// The cloud still works on it.
    Running,
    /// Finished; the effect is there.
    Done,
    /// The cloud gave up; the address is where it was.
    Failed,
    /// The cloud does not know this operation (yet): read the address instead.
    Unheard,
}
