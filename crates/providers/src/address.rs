//! The address operations that every provider offers, without provider-specific terms.

use std::fmt;
use std::net::IpAddr;

use async_trait::async_trait;

use crate::error::Result;

/// The addresses of an account.
///
/// Each mutating method sends exactly one mutating request (exceptions are named in
/// [`Capabilities`]). All methods are safe to repeat: a change already in effect is success. The
/// [`kind`](crate::ErrorKind) of an error tells whether the request can have had an effect. The
/// deadline applies to each request; a refused change may be followed by a read of the address, so
/// a method can take longer than one deadline.
#[async_trait]
pub trait AddressProvider: Send + Sync + fmt::Debug {
    /// Static properties of this provider, read by the planner.
    fn capabilities(&self) -> Capabilities;

    /// The project for newly reserved addresses, if configured. A new address in the project is
    /// taken for the result of a reservation of ours.
    fn dedicated_project(&self) -> Option<&str> {
        None
    }

    /// Every address of the account in the request's families, all pages. Pages shift while they
    /// are read, so an address missing here may still exist: only [`read`](Self::read) proves
    /// absence. A listing that cannot show everything says so in [`Listing::limited`].
    async fn list(&self, request: &ListRequest) -> Result<Listing>;

    /// The same listing at a higher priority, for a move waiting to be confirmed.
    async fn confirm(&self, request: &ListRequest) -> Result<Listing> {
        self.list(request).await
    }

    /// Reads a single address. `None` if the provider says the account does not have the address.
    async fn read(&self, ip: IpAddr) -> Result<Option<Address>>;

    /// Assigns `ip` to `machine`. An address on another machine is moved where
    /// [`Capabilities::atomic_move`] holds; elsewhere the call is
    /// [`Rejected`](crate::ErrorKind::Rejected) with the address as seen, and the caller unassigns
    /// first.
    async fn assign(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted>;

    /// Unassigns `ip` from its machine. The account keeps the address.
    async fn unassign(&self, ip: IpAddr) -> Result<Accepted>;

    /// Reserves a new address.
    async fn create(&self, request: &CreateRequest) -> Result<Created>;

    /// Releases `ip` for good. An address already gone is success.
    async fn release(&self, ip: IpAddr) -> Result<()>;

    /// The state of an accepted operation on `ip`.
    async fn operation(&self, ip: IpAddr, operation: &OperationId) -> Result<OperationState>;

    /// Gives `machine` an address of its own again, by which it reaches the Internet, where
    /// [`Capabilities::displaces_own`] holds. A machine that has an address is left alone.
    async fn restore_egress(&self, _machine: &MachineId) -> Result<Accepted> {
        Ok(Accepted::Done)
    }
}

/// The provider's name for a machine, normalised so that equal machines compare equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(pub String);

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An operation carried out by the provider after its answer.
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

/// The families to list. Providers keep each family in a separate collection, so asking for fewer
/// families costs fewer calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    /// List IPv4 addresses.
    pub v4: bool,
    /// List IPv6 addresses.
    pub v6: bool,
}

/// What to list. The machines and addresses are read only where
/// [`Capabilities::lists_by_machine`] holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// The families to list.
    pub families: Families,
    /// The machines of the cluster's nodes at this provider.
    pub machines: Vec<MachineId>,
    /// The addresses that somebody asks about.
    pub addresses: Vec<IpAddr>,
}

impl ListRequest {
    /// A request that names neither machines nor addresses.
    pub fn of(families: Families) -> Self {
        Self { families, ..Self::default() }
    }
}

/// The answer to a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The addresses, in order.
    pub addresses: Vec<Address>,
    /// What the listing could not see and which permission is missing, for a person.
    pub limited: Option<String>,
}

impl Listing {
    /// A listing of everything.
    pub fn of(addresses: Vec<Address>) -> Self {
        Self { addresses, limited: None }
    }
}

/// An address as the provider shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The IP address.
    pub ip: IpAddr,
    /// The machine holding the address, if any.
    pub holder: Option<MachineId>,
    /// The provider's region, if known.
    pub region: Option<String>,
    /// The provider's project or group, if known.
    pub project: Option<String>,
    /// The mark that the address was created with, where [`Capabilities::marks_created`] holds.
    pub mark: Option<String>,
    /// An operation is under way, and the provider would refuse another one.
    pub busy: bool,
}

/// The abilities of a provider. The planner reads them and never plans an unsupported call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A single call moves an address from one machine to another.
    pub atomic_move: bool,
    /// The most addresses of one family on one machine.
    pub addresses_per_machine: usize,
    /// IPv6 addresses can be assigned.
    pub ipv6: bool,
    /// New addresses carry a mark for finding them after a crash. Without marks, the target machine
    /// identifies a new address.
    pub marks_created: bool,
    /// The families whose new addresses can be assigned by the creating call. If neither this nor
    /// [`marks_created`](Self::marks_created) holds, only its age identifies the address left by a
    /// creation with a lost answer.
    pub places_created: Families,
    /// A listing reads the machines and addresses that the request names: a provider that has a
    /// part of the permissions alone finds addresses on machines, and an account without a
    /// configured project is known by its machines.
    pub lists_by_machine: bool,
    /// A reserved address takes the place of the machine's own, which is restored after
    /// ([`AddressProvider::restore_egress`]). Assigning removes the machine's own address by a
    /// request before, unassigning restores it by a request after.
    pub displaces_own: bool,
}

/// A new address to reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRequest {
    /// IP version.
    pub family: Family,
    /// Region to reserve in.
    pub region: String,
    /// The machine to assign in the same call, where [`Capabilities::places_created`] allows;
    /// elsewhere the new address stays free. Without [`Capabilities::marks_created`], the machine
    /// identifies the address after a lost answer.
    pub machine: Option<MachineId>,
    /// The mark of the new address, where [`Capabilities::marks_created`] holds: unique, at most 60
    /// lower-case letters, digits and hyphens, so that a vendor's prefix fits into a name.
    pub mark: Option<String>,
}

/// The provider accepted the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Completed: a read shows the effect.
    Done,
    /// Still running: poll [`AddressProvider::operation`], or list.
    Pending(OperationId),
}

/// A newly reserved address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The new address.
    pub ip: IpAddr,
    /// The progress of the assignment to the requested machine. `None` if the address stays free:
    /// no machine was requested, or this provider assigns with a separate call
    /// ([`AddressProvider::assign`]).
    pub placement: Option<Accepted>,
}

/// State of an accepted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// The operation is still running.
    Running,
    /// Finished: the effect is visible.
    Done,
    /// Given up by the provider: the address is unchanged.
    Failed,
    /// Not known to the provider, or not yet: read the address instead.
    Unheard,
}
