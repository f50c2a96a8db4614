//! The actions of ACME, within the abilities of a profile. The error of an action is its code.

use std::net::IpAddr;

use super::profiles::Profile;
use super::{TOKEN_LASTS, field, token};
use crate::asked::{Asked, Purpose};
use crate::call::Call;
use crate::operation::{OperationKind, OperationStatus};
use crate::request_context::Turn;
use crate::store::{Address, MachineId, State};

/// The region of addresses whose reservation names none: that of the endpoint.
const REGION: &str = "region-1";

type Done = Result<String, &'static str>;

/// Executes an action.
pub(super) fn act(turn: &mut Turn<'_>, call: &Call, profile: &Profile, asked: &Asked) -> Done {
    match asked.purpose {
        Purpose::Authenticate => {
            let token = token(&field(call, "Key").unwrap_or_default());
            Ok(format!("<Session><Token>{token}</Token><Seconds>{TOKEN_LASTS}</Seconds></Session>"))
        }
        Purpose::List => {
            let state = turn.seen();
            let all: String = state.addresses().map(|address| show(state, address)).collect();
            Ok(format!("<List>{all}</List>"))
        }
        Purpose::ReadOperation => operation(turn, call),
        purpose if purpose.creates() => reserve(turn, call, profile, asked),
        _ => on_address(turn, profile, asked),
    }
}

fn operation(turn: &Turn<'_>, call: &Call) -> Done {
    let id = field(call, "Id").and_then(|id| id.parse().ok());
    let found = id.and_then(|id| turn.seen().operation(id));
    let shown = found.filter(|operation| operation.hidden_until <= turn.now);
    let state = match shown.ok_or("NoSuchOperation")?.status {
        OperationStatus::InProgress => "Running",
        OperationStatus::Completed => "Done",
        OperationStatus::Errored => "Failed",
    };
    Ok(format!("<State>{state}</State>"))
}

fn reserve(turn: &mut Turn<'_>, call: &Call, profile: &Profile, asked: &Asked) -> Done {
    let six = asked.purpose == Purpose::CreateSix;
    let places = if six { profile.places_six } else { profile.places_four };
    let (mark, machine) = (field(call, "Mark"), field(call, "Machine"));
    let beyond =
        [(six, profile.six), (machine.is_some(), places), (mark.is_some(), profile.marks_new)];
    if beyond.iter().any(|(asked, able)| *asked && !able) {
        return Err("Unsupported");
    }
    let target = machine.map(|_| asked.machine.ok_or("NoSuchMachine")).transpose()?;
    if let Some(machine) = target {
        ready(turn.truth(), profile, machine, six)?;
    }
    if turn.truth().addresses().count() as u64 >= turn.knobs.address_limit {
        return Err("LimitExceeded");
    }
    let region = field(call, "Region").filter(|region| !region.is_empty());
    if profile.region_required && region.is_none() {
        return Err("NoRegion");
    }
    let (region, now) = (region.unwrap_or_else(|| REGION.to_owned()), turn.now);
    let state = turn.change();
    let ip = state.take_fresh(six);
    state.put_address(Address { name: mark, ..Address::free(ip, &region, now) });
    let begun = target.map(|machine| assign(turn, profile, ip, machine)).unwrap_or_default();
    let state = turn.truth();
    let made = state.address(ip).map(|address| show(state, address)).unwrap_or_default();
    Ok(format!("{made}{begun}"))
}

fn on_address(turn: &mut Turn<'_>, profile: &Profile, asked: &Asked) -> Done {
    let known = |ip: &IpAddr| turn.truth().address(*ip).is_some();
    let ip = asked.ip.filter(known).ok_or("NoSuchAddress")?;
    if asked.purpose == Purpose::ReadAddress {
        let state = turn.seen();
        return state.address(ip).map(|address| show(state, address)).ok_or("NoSuchAddress");
    }
    let state = turn.truth();
    let holder = state.holder(ip);
    if state.address_busy(ip) {
        return Err("InProgress");
    }
    let begun = match (asked.purpose, holder, asked.machine) {
        (Purpose::Assign, _, None) => return Err("NoSuchMachine"),
        (Purpose::Assign, Some(holder), Some(machine))
            if !profile.moves_at_once || holder == machine =>
        {
            return Err("Attached");
        }
        (Purpose::Assign, _, Some(machine)) => {
            ready(state, profile, machine, ip.is_ipv6())?;
            assign(turn, profile, ip, machine)
        }
        (Purpose::Unassign, None, _) => return Err("NotAttached"),
        (Purpose::Unassign, Some(holder), _) if state.machine_busy(holder) => {
            return Err("InProgress");
        }
        (Purpose::Unassign, Some(_), _) => {
            begin(turn, profile, OperationKind::Unassign { ip, machine: holder })
        }
        (Purpose::Release, Some(_), _) => return Err("Attached"),
        (Purpose::Release, None, _) => {
            turn.change().remove_address(ip);
            String::new()
        }
        _ => return Err("UnknownAction"),
    };
    Ok(format!("<Done/>{begun}"))
}

/// Refuses a machine that does not exist, is busy, or is full.
fn ready(
    state: &State,
    profile: &Profile,
    machine: MachineId,
    six: bool,
) -> Result<(), &'static str> {
    let held = state.held_by(machine).filter(|address| address.ip.is_ipv6() == six).count();
    match state.machine(machine) {
        None => Err("NoSuchMachine"),
        Some(_) if state.machine_busy(machine) => Err("InProgress"),
        Some(_) if held >= profile.per_machine => Err("Occupied"),
        Some(_) => Ok(()),
    }
}

fn assign(turn: &mut Turn<'_>, profile: &Profile, ip: IpAddr, machine: MachineId) -> String {
    let alone = profile.per_machine == 1;
    begin(turn, profile, OperationKind::Assign { ip, machine, alone })
}

/// Makes a change, or begins the operation that makes it.
fn begin(turn: &mut Turn<'_>, profile: &Profile, kind: OperationKind) -> String {
    if profile.operates {
        return format!("<Operation>{}</Operation>", turn.start(kind, REGION));
    }
    match kind {
        OperationKind::Assign { ip, machine, .. } => turn.change().set_holder(ip, Some(machine)),
        OperationKind::Unassign { ip, .. } => turn.change().set_holder(ip, None),
        _ => {}
    }
    String::new()
}

fn show(state: &State, address: &Address) -> String {
    let Address { ip, region, holder, name, .. } = address;
    let machine = holder.map(|id| format!("<Machine>m-{id}</Machine>")).unwrap_or_default();
    let mark = name.as_ref().map(|mark| format!("<Mark>{mark}</Mark>")).unwrap_or_default();
    let busy = if state.address_busy(*ip) { "<InProgress/>" } else { "" };
    format!("<Address><Ip>{ip}</Ip><Region>{region}</Region>{machine}{mark}{busy}</Address>")
}
