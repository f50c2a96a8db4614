//! The true state at the provider: holders, origins, requests under way.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakecloud::{AskedRecords, Happening, State};

use super::cluster::Machine;
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// The longest time for which a listing may show the past: the longest lag of reads, and the time
/// to the next listing.
pub(super) const SHOWN: Millis = 10_000;

/// The longest time for which the effect of a failed assignment is looked for, by any clock.
const LOOKED_FOR: Millis = 70_000;

/// A request to the provider.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The request's identifier, unique in a run.
    pub agent: String,
    /// The sending process.
    pub process: String,
    /// The action.
    pub action: CloudAction,
    /// The address that the request is about.
    pub ip: Option<IpAddr>,
    /// The machine that is to have an address.
    pub machine: Option<Machine>,
    /// The records that the request changes.
    pub records: Option<AskedRecords>,
    /// The path.
    pub path: String,
}

impl Sent {
    /// Whether the request concerns an IPv6 address.
    pub fn is_six(&self) -> bool {
        self.action == CloudAction::CreateSix || self.ip.is_some_and(|ip| ip.is_ipv6())
    }
}

/// The provider's side.
#[derive(Debug, Default)]
pub(super) struct Cloud {
    pub addresses: BTreeMap<IpAddr, Address>,
    flights: Vec<Sent>,
    /// The start of each address's claim by pools, and the last time of the claim.
    claims: BTreeMap<IpAddr, (Millis, Millis)>,
    /// The time of release and the origin of each address no longer present.
    gone: BTreeMap<IpAddr, (Millis, Origin)>,
}

/// An address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub holder: Option<Machine>,
    pub origin: Origin,
    /// The time of appearance.
    pub appeared: Millis,
    /// The machine of the reservation.
    pub target: Option<Machine>,
    /// The same before a person put the address of another reservation on that machine: the answers to
    /// the calls may still tell which address is whose.
    pub answered: Option<Machine>,
    /// The last change by hand.
    pub touched: Option<Millis>,
    /// The possible pools of the reservation.
    pub makers: BTreeSet<String>,
    /// The certain owner: the only claimant when the address arrived in place.
    pub kept_by: Option<String>,
    /// Moves since the last possible reason for a move.
    pub moves: u32,
    /// The address cannot be recognised as ours any more, because of a person: the ledger entry or
    /// intent was removed, or the address was moved before the ledger named the address.
    pub words_lost: bool,
    /// The machine from which a person moved the address to the present holder, and the time of
    /// arrival there.
    pub moved_from: Option<(Machine, Millis)>,
    /// The time of arrival at the present holder.
    pub arrived: Millis,
    /// The process that first sent an assignment to each machine, since the address was last on
    /// another machine, and the time.
    pub movers: BTreeMap<Machine, (String, Millis)>,
    /// The last assignment to each machine: its process, and the time.
    assigned: BTreeMap<Machine, (String, Millis)>,
    /// A pool took the address for its own (decision 2).
    pub mistaken: bool,
    /// The time when the pool that reserved the address left it to another pool.
    pub handed_over: Option<Millis>,
    /// The number of assignments to each machine that have no success, since the address was last on
    /// another machine. A call that was given up has no answer at all.
    pub unclear: BTreeMap<Machine, usize>,
    /// When the last assignment without a success to each machine was sent, or failed.
    failed: BTreeMap<Machine, Millis>,
}

/// The origin of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Present at the start, or reserved by hand.
    Others,
    /// Reserved by a replica, for the pool with this UID if known.
    Ours(Option<String>),
}

impl Cloud {
    /// Notes a sent request.
    pub fn sent(&mut self, sent: Sent, now: Millis) {
        if let (Some(ip), Some(machine)) = (sent.ip, sent.machine)
            && let Some(address) = self.addresses.get_mut(&ip)
        {
            let mover = (sent.process.clone(), now);
            address.assigned.insert(machine, mover.clone());
            address.movers.entry(machine).or_insert(mover);
            if sent.action == CloudAction::Assign {
                *address.unclear.entry(machine).or_default() += 1;
                address.failed.insert(machine, now);
            }
        }
        self.flights.push(sent);
    }

    /// Requests without an effect yet.
    pub fn flights(&self) -> impl Iterator<Item = &Sent> {
        self.flights.iter()
    }

    /// The request ended by an effect or a loss.
    pub fn ended(&mut self, what: Happening<'_>) -> Option<Sent> {
        let (Happening::Effect { user_agent } | Happening::Lost { user_agent }) = what else {
            return None;
        };
        let at = self.flights.iter().position(|flight| flight.agent == user_agent)?;
        Some(self.flights.remove(at))
    }

    /// Compares with the emulator's state. Returns the new addresses.
    pub fn look(&mut self, state: &State, by_hand: bool, now: Millis) -> Vec<IpAddr> {
        let mut new = Vec::new();
        let gone = self.addresses.extract_if(.., |ip, _| state.address(*ip).is_none());
        self.gone.extend(gone.map(|(ip, address)| (ip, (now, address.origin))));
        for seen in state.addresses() {
            let address = self.addresses.entry(seen.ip).or_insert_with(|| {
                new.push(seen.ip);
                Address {
                    holder: seen.holder,
                    origin: Origin::Others,
                    appeared: now,
                    target: None,
                    answered: None,
                    touched: by_hand.then_some(now),
                    makers: BTreeSet::new(),
                    kept_by: None,
                    moves: 0,
                    words_lost: false,
                    moved_from: None,
                    arrived: now,
                    movers: BTreeMap::new(),
                    assigned: BTreeMap::new(),
                    mistaken: false,
                    handed_over: None,
                    unclear: BTreeMap::new(),
                    failed: BTreeMap::new(),
                }
            });
            if address.holder != seen.holder {
                if by_hand {
                    address.touched = Some(now);
                }
                let from = address.holder.map(|from| (from, address.arrived));
                address.moved_from = from.filter(|_| by_hand && seen.holder.is_some());
                address.holder = seen.holder;
                address.arrived = now;
                // An address without a machine may still be on its way to one.
                if let Some(holder) = seen.holder {
                    address.movers.retain(|machine, _| *machine == holder);
                    // Our call may end after a person moved the address elsewhere.
                    let ours = address.assigned.get(&holder).filter(|_| !by_hand).cloned();
                    if let Some(mover) = ours {
                        address.movers.entry(holder).or_insert(mover);
                    }
                    address.unclear.retain(|machine, _| *machine == holder);
                }
            }
        }
        new
    }

    /// Extends the claims on these addresses until now.
    pub fn still_claimed(&mut self, ips: impl Iterator<Item = IpAddr>, now: Millis) {
        for ip in ips {
            self.claims.entry(ip).or_insert((now, now)).1 = now;
        }
    }

    /// Notes the present claims. A gap after `floor` may have gone unseen, and does not interrupt a
    /// claim.
    pub fn claimed(&mut self, ips: impl Iterator<Item = IpAddr>, floor: Millis, now: Millis) {
        for ip in ips {
            let (since, last) = self.claims.entry(ip).or_insert((now, now));
            if *last < floor {
                *since = now;
            }
            *last = now;
        }
    }

    /// The start of the claim on an address.
    pub fn claimed_since(&self, ip: IpAddr) -> Millis {
        self.claims.get(&ip).map_or(0, |(since, _)| *since)
    }

    /// The last time of a claim on an address.
    pub fn last_claimed(&self, ip: IpAddr) -> Option<Millis> {
        self.claims.get(&ip).map(|(_, last)| *last)
    }

    /// Whether an address was changed by hand, or vanished, since `floor`.
    pub fn touched_since(&self, ip: IpAddr, floor: Millis) -> bool {
        let address = self.addresses.get(&ip);
        let gone = self.gone.get(&ip).map(|(time, _)| *time);
        let times = [address.and_then(|address| address.touched), gone];
        times.into_iter().flatten().any(|time| time >= floor)
    }

    /// When an address was reserved by a replica.
    pub fn reserved_at(&self, ip: IpAddr) -> Option<Millis> {
        let ours = |one: &&Address| one.origin != Origin::Others;
        self.addresses.get(&ip).filter(ours).map(|one| one.appeared)
    }

    /// Whether an address is no longer present, and had this origin.
    pub fn had(&self, ip: IpAddr, origin: &Origin) -> bool {
        let gone = self.gone.get(&ip).filter(|_| !self.addresses.contains_key(&ip));
        gone.is_some_and(|(_, had)| had == origin)
    }

    /// Whether an address arrived a moment ago, by the call of another process or by a call without
    /// a success. Where the provider does not show operations, only a later listing tells of the
    /// move.
    pub fn is_unknown_arrival(&self, ip: IpAddr, process: &str, now: Millis) -> bool {
        self.addresses.get(&ip).is_some_and(|one| {
            let mover = one.holder.and_then(|holder| one.movers.get(&holder));
            let anothers = mover.is_some_and(|(mover, _)| mover != process);
            let calls = one.holder.and_then(|holder| one.unclear.get(&holder));
            let unclear = calls.is_some_and(|calls| *calls > 0);
            (anothers || unclear) && now < one.arrived + SHOWN
        })
    }

    /// Notes a failed assignment, which may nevertheless take effect.
    pub fn failed(&mut self, sent: &Sent, now: Millis) {
        if let (CloudAction::Assign, Some(ip), Some(machine)) = (sent.action, sent.ip, sent.machine)
            && let Some(address) = self.addresses.get_mut(&ip)
        {
            address.failed.insert(machine, now);
        }
    }

    /// Notes an assignment with success: no late effect of an earlier one is looked for any more.
    pub fn succeeded(&mut self, sent: &Sent) {
        if let (CloudAction::Assign, Some(ip), Some(machine)) = (sent.action, sent.ip, sent.machine)
            && let Some(address) = self.addresses.get_mut(&ip)
        {
            address.failed.remove(&machine);
            let calls = address.unclear.entry(machine).or_default();
            *calls = calls.saturating_sub(1);
        }
    }

    /// Whether a failed assignment may have brought an address to its holder late, as far as a replica
    /// knows (decision 3).
    pub fn may_be_late(&self, ip: IpAddr, now: Millis) -> bool {
        self.addresses.get(&ip).is_some_and(|one| {
            let failed = one.holder.and_then(|holder| one.failed.get(&holder));
            failed.is_some_and(|failed| now < failed + LOOKED_FOR)
        })
    }

    /// Whether one of our calls, sent at the latest at `time`, brought an address to its holder.
    pub fn is_brought(&self, ip: IpAddr, time: Millis) -> bool {
        self.addresses.get(&ip).is_some_and(|one| {
            let mover = one.holder.and_then(|holder| one.movers.get(&holder));
            mover.is_some_and(|(_, sent)| *sent <= time)
        })
    }

    /// Whether an address came off its machine so lately that a listing may still show it there.
    pub fn came_off(&self, ip: IpAddr, now: Millis) -> bool {
        let address = self.addresses.get(&ip);
        address.is_some_and(|one| one.holder.is_none() && now < one.arrived + SHOWN)
    }

    /// The machine that holds an address.
    pub fn holder(&self, ip: IpAddr) -> Option<Machine> {
        self.addresses.get(&ip)?.holder
    }

    /// The addresses held by a machine.
    pub fn held_by(&self, machine: Machine) -> impl Iterator<Item = IpAddr> {
        let held = move |(_, address): &(&IpAddr, &Address)| address.holder == Some(machine);
        self.addresses.iter().filter(held).map(|(ip, _)| *ip)
    }
}
