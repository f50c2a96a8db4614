//! The faults that are at work now, and which requests they strike.

use crate::faults::{ApiFault, CloudFault};
use crate::oracle::{Sent, Stuck};
use crate::schedule::{CloudState, ReplicaIndex};
use crate::wire::{ApiAction, CloudAction};

/// Faults at work. Each draws from dice of its own, so that taking one away leaves the others
/// as they are.
#[derive(Debug, Default)]
pub struct Weather {
    cloud: Vec<Front<CloudFault, CloudAction>>,
    api: Vec<Front<ApiFault, ApiAction>>,
    states: Vec<(usize, CloudState)>,
    refusals: Vec<(usize, Stuck)>,
    stale: Vec<(usize, ReplicaIndex)>,
    paused: Vec<(usize, ReplicaIndex)>,
}

/// One fault at work.
#[derive(Debug)]
struct Front<F, A> {
    event: usize,
    fault: F,
    on: Option<A>,
    replica: Option<ReplicaIndex>,
    percent: u8,
    dice: fastrand::Rng,
}

/// What strikes one request: as the emulator knows it, and in words.
pub type Strikes<F> = (Vec<F>, Vec<&'static str>);

impl Weather {
    /// A fault of requests to the cloud begins.
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

    /// A fault of requests to the API server begins.
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

    /// The cloud enters a state.
    pub fn cloud_is(&mut self, event: usize, state: CloudState) {
        self.states.push((event, state));
    }

    /// The states that the cloud is in.
    pub fn states(&self) -> impl Iterator<Item = CloudState> {
        self.states.iter().map(|(_, state)| *state)
    }

    /// The cloud refuses every call that is about one thing.
    pub fn refuses(&mut self, event: usize, what: Stuck) {
        self.refusals.push((event, what));
    }

    /// A replica sees the past.
    pub fn stale(&mut self, event: usize, replica: ReplicaIndex) {
        self.stale.push((event, replica));
    }

    /// A replica does not run.
    pub fn paused(&mut self, event: usize, replica: ReplicaIndex) {
        self.paused.push((event, replica));
    }

    /// Whether a replica does not run.
    pub fn is_paused(&self, replica: usize) -> bool {
        self.paused.iter().any(|(_, one)| usize::from(*one) == replica)
    }

    /// What an event brought is over.
    pub fn end(&mut self, event: usize) {
        self.cloud.retain(|front| front.event != event);
        self.api.retain(|front| front.event != event);
        self.states.retain(|(one, _)| *one != event);
        self.refusals.retain(|(one, _)| *one != event);
        self.stale.retain(|(one, _)| *one != event);
        self.paused.retain(|(one, _)| *one != event);
    }

    /// What strikes a request to the cloud that is sent now.
    pub fn cloud(&mut self, sent: &Sent) -> Strikes<fakecloud::Fault> {
        let action = sent.action;
        let mut strikes = (vec![], vec![]);
        if let Some((_, what)) = self.refusals.iter().find(|(_, what)| what.concerns(sent)) {
            strikes.0.push(fakecloud::Fault::Answer(what.refusal()));
            strikes.1.push(what.name());
        }
        for front in &mut self.cloud {
            let concerns = front.on.is_none_or(|on| on == action) && front.fault.befalls(action);
            if concerns && front.dice.u8(0..100) < front.percent {
                strikes.0.push(front.fault.carried(&mut front.dice));
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

    /// What strikes a request to the API server that is sent now.
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

/// What a stale API server is called in a table.
pub const STALE: &str = "stale API server";

impl CloudState {
    /// Whether it makes a difference to this request.
    pub fn concerns(self, action: CloudAction) -> bool {
        match self {
            Self::Lagging(_) => !action.changes(),
            Self::Full => matches!(action, CloudAction::CreateOn | CloudAction::CreateIn),
            Self::Blind => action.lists() || action == CloudAction::ReadAddress,
            Self::Throttled | Self::TokenExpired => true,
        }
    }

    /// In words, for a table.
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
