//! What is true at the cloud: who holds what, who reserved it, what is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakecloud::{Happening, State};
use serde_json::Value;

use super::cluster::Machine;
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// How long a listing may show what was before: the longest lag of reads, and the time until
/// the next one.
pub(super) const SHOWN: Millis = 10_000;

/// A request to the cloud.
#[derive(Clone, Debug)]
pub struct Sent {
    /// What names it: unique in a run.
    pub agent: String,
    /// The process that sent it.
    pub process: String,
    /// What it is for.
    pub action: CloudAction,
    /// Its path.
    pub path: String,
    /// Its body.
    pub body: Value,
}

impl Sent {
    /// The address that it is about.
    pub fn ip(&self) -> Option<IpAddr> {
        self.path.split('/').find_map(|segment| segment.parse().ok())
    }

    /// Whether it is about an IPv6 address.
    pub fn is_six(&self) -> bool {
        self.action == CloudAction::CreateSix || self.ip().is_some_and(|ip| ip.is_ipv6())
    }

    /// The machine that it is about.
    pub fn machine(&self) -> Option<Machine> {
        self.body["droplet_id"].as_u64()
    }
}

/// The cloud.
#[derive(Debug, Default)]
pub(super) struct Cloud {
    pub addresses: BTreeMap<IpAddr, Address>,
    flights: Vec<Sent>,
    /// Since when each address has been claimed by a pool, and when it last was.
    claims: BTreeMap<IpAddr, (Millis, Millis)>,
    /// When each address that is not there any more was given back.
    gone: BTreeMap<IpAddr, Millis>,
}

/// An address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub holder: Option<Machine>,
    pub origin: Origin,
    /// The machine that it was reserved on.
    pub target: Option<Machine>,
    /// When it was last touched by hand.
    pub touched: Option<Millis>,
    /// Pools that it may have been reserved for.
    pub makers: BTreeSet<String>,
    /// The pool that surely has it: it alone claimed it when the address came to be in place.
    pub kept_by: Option<String>,
    /// Moves since something last happened that could be a reason for one.
    pub moves: u32,
    /// Somebody removed what was written down of it before it was anywhere else.
    pub words_lost: bool,
    /// When it got to where it is.
    pub arrived: Millis,
    /// The processes that first meant to put it on machines, since it was last on another.
    pub movers: BTreeMap<Machine, String>,
}

/// Who reserved an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was there, or somebody did by hand.
    Others,
    /// A replica, for the pool with this UID, as far as that can be told.
    Ours(Option<String>),
}

impl Cloud {
    /// A request was sent.
    pub fn sent(&mut self, sent: Sent) {
        if let (Some(ip), Some(machine)) = (sent.ip(), sent.machine())
            && let Some(address) = self.addresses.get_mut(&ip)
        {
            address.movers.entry(machine).or_insert_with(|| sent.process.clone());
        }
        self.flights.push(sent);
    }

    /// Requests that have had no effect yet.
    pub fn flights(&self) -> impl Iterator<Item = &Sent> {
        self.flights.iter()
    }

    /// The request that this is the end of: it had its effect, or got lost.
    pub fn ended(&mut self, what: Happening<'_>) -> Option<Sent> {
        let (Happening::Effect { user_agent } | Happening::Lost { user_agent }) = what else {
            return None;
        };
        let at = self.flights.iter().position(|flight| flight.agent == user_agent)?;
        Some(self.flights.remove(at))
    }

    /// Looks at everything. Returns the addresses that are new.
    pub fn look(&mut self, state: &State, by_hand: bool, now: Millis) -> Vec<IpAddr> {
        let mut new = Vec::new();
        let gone = self.addresses.extract_if(.., |ip, _| state.address(*ip).is_none());
        self.gone.extend(gone.map(|(ip, _)| (ip, now)));
        for seen in state.addresses() {
            let address = self.addresses.entry(seen.ip).or_insert_with(|| {
                new.push(seen.ip);
                Address {
                    holder: seen.holder,
                    origin: Origin::Others,
                    target: None,
                    touched: by_hand.then_some(now),
                    makers: BTreeSet::new(),
                    kept_by: None,
                    moves: 0,
                    words_lost: false,
                    arrived: now,
                    movers: BTreeMap::new(),
                }
            });
            if address.holder != seen.holder {
                if by_hand {
                    address.touched = Some(now);
                }
                address.holder = seen.holder;
                address.arrived = now;
                address.movers.retain(|machine, _| Some(*machine) == seen.holder);
            }
        }
        new
    }

    /// Pools have claimed these addresses until now.
    pub fn still_claimed(&mut self, ips: impl Iterator<Item = IpAddr>, now: Millis) {
        for ip in ips {
            self.claims.entry(ip).or_insert((now, now)).1 = now;
        }
    }

    /// Pools claim these addresses now. A gap that may not have been seen is none.
    pub fn claimed(&mut self, ips: impl Iterator<Item = IpAddr>, floor: Millis, now: Millis) {
        for ip in ips {
            let (since, last) = self.claims.entry(ip).or_insert((now, now));
            if *last < floor {
                *since = now;
            }
            *last = now;
        }
    }

    /// Since when an address has been claimed.
    pub fn claimed_since(&self, ip: IpAddr) -> Millis {
        self.claims.get(&ip).map_or(0, |(since, _)| *since)
    }

    /// When an address was last claimed.
    pub fn last_claimed(&self, ip: IpAddr) -> Option<Millis> {
        self.claims.get(&ip).map(|(_, last)| *last)
    }

    /// Whether somebody touched an address by hand since `floor`.
    pub fn touched_since(&self, ip: IpAddr, floor: Millis) -> bool {
        let address = self.addresses.get(&ip);
        let gone = self.gone.get(&ip).copied();
        let times = [address.and_then(|address| address.touched), gone];
        times.into_iter().flatten().any(|time| time >= floor)
    }

    /// Whether a predecessor put an IPv6 address where it is, a moment ago: of those the cloud
    /// does not say that an operation is under way, so that a successor learns of it when a
    /// listing shows its end.
    pub fn is_anothers_arrival(&self, ip: IpAddr, process: &str, now: Millis) -> bool {
        self.addresses.get(&ip).is_some_and(|one| {
            let mover = one.holder.and_then(|holder| one.movers.get(&holder));
            let anothers = mover.is_some_and(|mover| mover != process);
            ip.is_ipv6() && anothers && now < one.arrived + SHOWN
        })
    }

    /// The machine that holds an address.
    pub fn holder(&self, ip: IpAddr) -> Option<Machine> {
        self.addresses.get(&ip)?.holder
    }

    /// What a machine holds.
    pub fn held_by(&self, machine: Machine) -> impl Iterator<Item = IpAddr> {
        let held = move |(_, address): &(&IpAddr, &Address)| address.holder == Some(machine);
        self.addresses.iter().filter(held).map(|(ip, _)| *ip)
    }
}
