//! The active faults, and the requests they affect.

use crate::faults::{ApiFault, CloudFault};
use crate::oracle::{Sent, Stuck};
use crate::schedule::{CloudState, ReplicaIndex};
use crate::vendor::Vendor;
use crate::wire::{ApiAction, CloudAction};

/// Active faults. Each has its own random numbers, so removing a fault does not affect the others.
#[derive(Debug, Default)]
pub struct Weather {
    cloud: Vec<Front<CloudFault, CloudAction>>,
    api: Vec<Front<ApiFault, ApiAction>>,
    states: Vec<(usize, CloudState)>,
    refusals: Vec<(usize, Stuck)>,
    stale: Vec<(usize, ReplicaIndex)>,
    paused: Vec<(usize, ReplicaIndex)>,
}

/// An active fault.
#[derive(Debug)]
struct Front<F, A> {
    event: usize,
    fault: F,
    on: Option<A>,
    replica: Option<ReplicaIndex>,
    percent: u8,
    dice: fastrand::Rng,
}

/// The faults of a request, for the emulator and by name.
pub type Strikes<F> = (Vec<F>, Vec<&'static str>);

impl Weather {
    /// Begins a fault of requests to the provider.
    pub fn cloud_fault(
        &mut self,
        event: usize,
        fault: CloudFault,
        on: Option<CloudAction>,
        percent: u8,
        dice: u64,
    ) {
        let dice = fastrand::Rng::with_seed(dice);
        self.cloud.push(Front { event, fault, on, replica: None, percent, dice });
    }

    /// Begins a fault of requests to the API server.
    pub fn api_fault(
        &mut self,
        event: usize,
        fault: ApiFault,
        on: Option<ApiAction>,
        replica: Option<ReplicaIndex>,
        (percent, dice): (u8, u64),
    ) {
        let dice = fastrand::Rng::with_seed(dice);
        self.api.push(Front { event, fault, on, replica, percent, dice });
    }

    /// Begins a state of the provider.
    pub fn cloud_is(&mut self, event: usize, state: CloudState) {
        self.states.push((event, state));
    }

    /// The active states of the provider.
    pub fn states(&self) -> impl Iterator<Item = CloudState> {
        self.states.iter().map(|(_, state)| *state)
    }

    /// Begins a lasting refusal.
    pub fn refuses(&mut self, event: usize, what: Stuck) {
        self.refusals.push((event, what));
    }

    /// Begins a stale view of a replica.
    pub fn stale(&mut self, event: usize, replica: ReplicaIndex) {
        self.stale.push((event, replica));
    }

    /// Begins a pause of a replica.
    pub fn paused(&mut self, event: usize, replica: ReplicaIndex) {
        self.paused.push((event, replica));
    }

    /// Whether a replica is paused.
    pub fn is_paused(&self, replica: usize) -> bool {
        self.paused.iter().any(|(_, one)| usize::from(*one) == replica)
    }

    /// Ends everything begun by an event.
    pub fn end(&mut self, event: usize) {
        self.cloud.retain(|front| front.event != event);
        self.api.retain(|front| front.event != event);
        self.states.retain(|(one, _)| *one != event);
        self.refusals.retain(|(one, _)| *one != event);
        self.stale.retain(|(one, _)| *one != event);
        self.paused.retain(|(one, _)| *one != event);
    }

    /// The faults of a request to the provider, sent now.
    pub fn cloud(&mut self, sent: &Sent, vendor: Vendor) -> Strikes<fakecloud::Fault> {
        let action = sent.action;
        let mut strikes = (vec![], vec![]);
        if let Some((_, what)) = self.refusals.iter().find(|(_, what)| what.concerns(sent)) {
            strikes.0.push(fakecloud::Fault::Answer(what.refusal(vendor)));
            strikes.1.push(what.name());
        }
        for front in &mut self.cloud {
            let concerns = front.on.is_none_or(|on| on == action) && front.fault.befalls(action);
            if concerns && front.dice.u8(0..100) < front.percent {
                carry(front.fault.carried(&mut front.dice), &mut strikes.0);
                strikes.1.push(front.fault.name());
            }
        }
        for (_, state) in &self.states {
            if state.concerns(action) {
                strikes.1.push(state.name());
            }
        }
        strikes
    }

    /// The faults of a request to the API server, sent now.
    pub fn api(&mut self, action: ApiAction, replica: usize) -> Strikes<fakekube::Fault> {
        let mut strikes = (vec![], vec![]);
        for front in &mut self.api {
            let concerns = front.on.is_none_or(|on| on == action)
                && front.replica.is_none_or(|one| usize::from(one) == replica)
                && front.fault.befalls(action);
            if concerns && front.dice.u8(0..100) < front.percent {
                strikes.0.push(front.fault.carried(&mut front.dice));
                strikes.1.push(front.fault.name());
            }
        }
        let seen = action.watches() || matches!(action, ApiAction::List(_));
        if seen && self.stale.iter().any(|(_, one)| usize::from(*one) == replica) {
            strikes.1.push(STALE);
        }
        strikes
    }
}

/// Adds a fault to a request. Of several delays before the effect the longest counts: added up, they
/// would exceed the time within which a provider applies a call.
fn carry(fault: fakecloud::Fault, faults: &mut Vec<fakecloud::Fault>) {
    use fakecloud::Fault;
    let delay = |one: &Fault| matches!(one, Fault::DelayBefore(_));
    let before = faults.iter().position(delay).filter(|_| delay(&fault));
    match (before.map(|at| &mut faults[at]), fault) {
        (Some(Fault::DelayBefore(longest)), Fault::DelayBefore(another)) => {
            *longest = another.max(*longest);
        }
        (_, fault) => faults.push(fault),
    }
}

/// The name of a stale view in the coverage table.
pub const STALE: &str = "stale API server";

impl CloudState {
    /// Whether the state affects this request.
    pub fn concerns(self, action: CloudAction) -> bool {
        match self {
            Self::Lagging(_) => !action.changes(),
            Self::Full => matches!(action, CloudAction::CreateOn | CloudAction::CreateIn),
            Self::Blind => {
                action.lists()
                    || matches!(action, CloudAction::ReadAddress | CloudAction::SeeMachines)
            }
            Self::Throttled | Self::TokenExpired => true,
        }
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lagging(_) => "reads lag",
            Self::Throttled => "throttled",
            Self::TokenExpired => "token expired",
            Self::Full => "account full",
            Self::Blind => "token sees no machines",
        }
    }
}
