//! Lasting refusals of a single target. The target is exempt from liveness; everything else must be
//! served.

use std::net::IpAddr;

use fakecloud::Answer;

use super::Oracle;
use super::cloud::Sent;
use super::cluster::Machine;
use super::pool::Pool;
use crate::names::Host;
use crate::vendor::Vendor;
use crate::wire::CloudAction;

/// The target of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Assignments of this address.
    Address(IpAddr),
    /// Assignments to this machine.
    Machine(u64),
    /// Reservations.
    Reserving,
    /// Releases.
    GivingBack,
    /// Record changes at this host.
    Names(Host),
}

impl Stuck {
    /// The name of a refused address in the coverage table.
    pub const REFUSED: &'static str = "address refused for good";

    /// The name of a refusing machine in the coverage table.
    pub const REFUSES: &'static str = "machine refuses for good";

    /// The name of a missing scope in the coverage table.
    pub const WITHOUT_SCOPE: &'static str = "scope missing";

    /// Whether a call is refused.
    pub fn concerns(self, sent: &Sent) -> bool {
        let changes = |host| match sent.action {
            CloudAction::AddRecord | CloudAction::EditRecord | CloudAction::DropRecord => {
                host == Host::DigitalOcean
            }
            CloudAction::ChangeName => host == Host::Cloudflare,
            _ => false,
        };
        match self {
            Self::Address(ip) => sent.action == CloudAction::Assign && sent.ip == Some(ip),
            // A machine keeps its own address, and gets it back.
            Self::Machine(machine) => {
                sent.machine == Some(machine) && sent.action != CloudAction::RestoreOwn
            }
            Self::Reserving => sent.action.creates(),
            Self::GivingBack => sent.action == CloudAction::Release,
            Self::Names(host) => changes(host),
        }
    }

    /// The answer to a refused call.
    pub fn refusal(self, vendor: Vendor) -> Answer {
        let elsewhere = "The address and the machine must be in the same region.";
        match self {
            Self::Address(_) | Self::Machine(_) => {
                Answer::status(vendor.refusal()).message(elsewhere)
            }
            Self::Reserving | Self::GivingBack | Self::Names(_) => Answer::status(403),
        }
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Address(_) => Self::REFUSED,
            Self::Machine(_) => Self::REFUSES,
            Self::Reserving | Self::GivingBack | Self::Names(_) => Self::WITHOUT_SCOPE,
        }
    }
}

impl Oracle {
    /// Begins a refusal, which may outlast all trouble.
    pub fn sticks(&mut self, event: usize, what: Stuck) {
        self.stuck.push((event, what));
    }

    /// Ends a refusal.
    pub fn loosens(&mut self, event: usize) {
        self.stuck.retain(|(one, _)| *one != event);
    }

    fn is_stuck(&self, what: Stuck) -> bool {
        self.stuck.iter().any(|(_, one)| *one == what)
    }

    /// Whether an address can be assigned at all.
    pub(super) fn is_movable(&self, ip: IpAddr) -> bool {
        !self.is_stuck(Stuck::Address(ip))
    }

    /// Whether a machine accepts addresses at all.
    pub(super) fn takes(&self, machine: Machine) -> bool {
        !self.is_stuck(Stuck::Machine(machine))
    }

    /// Whether addresses can be reserved.
    pub(super) fn can_reserve(&self) -> bool {
        !self.is_stuck(Stuck::Reserving)
    }

    /// Whether addresses can be released.
    pub(super) fn can_give_back(&self) -> bool {
        !self.is_stuck(Stuck::GivingBack)
    }

    /// Whether records of a zone can be changed.
    pub(super) fn can_name(&self, zone: &str) -> bool {
        Host::ALL.into_iter().all(|host| host.zone() != zone || !self.is_stuck(Stuck::Names(host)))
    }
}

impl Pool {
    /// Whether the pool is served: readable and not paused.
    pub fn is_served(&self) -> bool {
        self.is_understood() && self.ways.paused.is_none()
    }
}
