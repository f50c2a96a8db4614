//! Several elections over one Lease, under late, lost and reordered requests, lagging watches,
//! pauses, crashes (with a new pod, or a new process in the same pod), clean stops and clocks of
//! unequal rates. A call must not start before the calls of all other processes have taken effect.
//! Every schedule comes from a seed.
//!
//! The model check (`crates/model`) has no clocks: it assumes that guards shut before another replica
//! may take the Lease, and that calls are over when settling ends. Here three replicas with the
//! configured periods call as often as their guards permit, which no other test does.

use std::time::Duration;

use fastrand::Rng;
use k8s_openapi::api::coordination::v1::Lease;
use pontoon_core::Time;

use crate::leadership::election::{Election, Leave, Next};
use crate::leadership::{Identity, Timing, lease_object};

const TICK: Duration = Duration::from_millis(50);
const CALL: Duration = Duration::from_secs(5);

/// The API server: a Lease with compare-and-swap.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
}

impl Server {
    fn obey(&mut self, request: &Request) -> Answer {
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        match request {
            Request::Read => return Answer::Found(self.lease.clone()),
            Request::Create(_) if self.lease.is_some() => return Answer::Conflict,
            Request::Replace(new) if self.lease.as_ref().map(version) != Some(version(new)) => {
                return Answer::Conflict;
            }
            Request::Create(new) | Request::Replace(new) => {
                self.version += 1;
                let mut new = new.clone();
                new.metadata.resource_version = Some(self.version.to_string());
                self.lease = Some(new);
            }
        }
        Answer::Written(self.lease.clone())
    }
}

#[derive(Clone)]
enum Request {
    Read,
    Create(Lease),
    Replace(Lease),
}

#[derive(Clone)]
enum Answer {
    Found(Option<Lease>),
    Written(Option<Lease>),
    Conflict,
}

/// A request under way, which reaches the server even if the sender no longer waits.
struct Flight {
    process: usize,
    request: Request,
    arrives: Duration,
    /// When the answer arrives; `None` if the answer gets lost.
    returns: Option<Duration>,
    answer: Option<Answer>,
}

/// A process of a replica.
struct Process {
    election: Election,
    name: String,
    pod: String,
    rate: f64,
    alive: bool,
    paused_until: Duration,
    /// Until this time the process is cut off from the server.
    cut_until: Duration,
    /// When the request under way was sent, on the process's clock.
    sent: Option<Duration>,
    glimpses: Vec<(Duration, Option<Lease>)>,
    last_call: Option<Duration>,
    stopping: bool,
    /// Whether the server has accepted the release.
    released: bool,
}

struct World {
    rng: Rng,
    timing: Timing,
    now: Duration,
    faulty: bool,
    /// Largest error of a clock's rate: 0.025 is 2.5 % fast or slow.
    drift: f64,
    server: Server,
    flights: Vec<Flight>,
    processes: Vec<Process>,
    calls: u64,
    takeovers: u64,
    /// Takeovers of a Lease that a dead process of the same pod held.
    inherited: u64,
}

impl World {
    fn new(seed: u64, drift: f64, replicas: usize) -> Self {
        let mut world = Self {
            rng: Rng::with_seed(seed),
            timing: Timing::default(),
            now: Duration::ZERO,
            faulty: true,
            drift,
            server: Server::default(),
            flights: vec![],
            processes: vec![],
            calls: 0,
            takeovers: 0,
            inherited: 0,
        };
        (0..replicas).for_each(|_| world.boot(None));
        world
    }

    /// Starts a process, in the given pod or in a new pod.
    fn boot(&mut self, pod: Option<String>) {
        let (number, rate) =
            (self.processes.len(), 1.0 + self.drift * (self.rng.f64() * 2.0 - 1.0));
        let pod = pod.unwrap_or_else(|| format!("pod{number}"));
        let identity = Identity::new("p", Some(&pod), &number.to_string());
        let name = identity.as_str().to_owned();
        let born = Self::clock_at(number, rate, self.now);
        self.processes.push(Process {
            election: Election::new(identity, self.timing, CALL, born),
            name,
            pod,
            rate,
            alive: true,
            paused_until: self.now,
            cut_until: self.now,
            sent: None,
            glimpses: vec![],
            last_call: None,
            stopping: false,
            released: false,
        });
    }

    /// The clock of a process, far from every other process's clock.
    fn clock(&self, process: usize) -> Duration {
        Self::clock_at(process, self.processes[process].rate, self.now)
    }

    fn clock_at(process: usize, rate: f64, now: Duration) -> Duration {
        Duration::from_secs(process as u64 * 1000) + now.mul_f64(rate)
    }

    fn chance(&mut self, one_in: f64) -> bool {
        self.faulty && self.rng.f64() * one_in < 1.0
    }

    /// Mostly milliseconds, now and then seconds, so that later requests arrive first.
    fn delay(&mut self) -> Duration {
        let longest = if self.chance(30.0) { 12_000.0 } else { 60.0 };
        Duration::from_secs_f64(self.rng.f64() * longest / 1000.0)
    }

    fn tick(&mut self) {
        self.now += TICK;
        self.disturb();
        self.arrive();
        for process in 0..self.processes.len() {
            if self.processes[process].alive && self.processes[process].paused_until <= self.now {
                self.hear(process);
                self.act(process);
                self.call(process);
            }
        }
        self.agree();
    }

    fn disturb(&mut self) {
        for process in 0..self.processes.len() {
            if !self.processes[process].alive {
                continue;
            }
            if self.chance(1_500.0) {
                self.processes[process].alive = false;
                let pod = self.processes[process].pod.clone();
                let same = self.rng.bool();
                self.boot(same.then_some(pod));
            } else if self.chance(500.0) {
                self.processes[process].stopping = true;
            } else if self.chance(600.0) {
                let pause = Duration::from_secs_f64(self.rng.f64() * 30.0);
                self.processes[process].paused_until = self.now + pause;
            } else if self.chance(600.0) {
                let cut = Duration::from_secs_f64(self.rng.f64() * 40.0);
                self.processes[process].cut_until = self.now + cut;
            }
        }
    }

    /// Applies the requests that have arrived, and shows changes to the watchers.
    fn arrive(&mut self) {
        for index in 0..self.flights.len() {
            if self.flights[index].answer.is_some() || self.flights[index].arrives > self.now {
                continue;
            }
            let before = self.server.version;
            let holder = self.holder();
            let request = self.flights[index].request.clone();
            let answer = self.server.obey(&request);
            self.flights[index].answer = Some(answer);
            if self.server.version != before {
                self.inherited += u64::from(self.is_inherited(holder.as_deref()));
                let frees = self
                    .server
                    .lease
                    .as_ref()
                    .is_some_and(|lease| lease_object::holder(lease).is_none());
                self.processes[self.flights[index].process].released |= frees;
                self.show();
            }
        }
        self.flights.retain(|flight| {
            let awaited = flight.returns.is_some() && self.processes[flight.process].alive;
            awaited || flight.answer.is_none()
        });
    }

    fn holder(&self) -> Option<String> {
        self.server.lease.as_ref().and_then(lease_object::holder).map(str::to_owned)
    }

    /// Whether the Lease has passed between two processes of the same pod.
    fn is_inherited(&self, before: Option<&str>) -> bool {
        let pod = |name: &str| {
            let process = self.processes.iter().find(|process| process.name == name);
            process.map(|process| process.pod.clone())
        };
        let after = self.holder();
        before != after.as_deref()
            && before.and_then(pod).is_some()
            && before.and_then(pod) == after.as_deref().and_then(pod)
    }

    fn show(&mut self) {
        for process in 0..self.processes.len() {
            let Process { alive, cut_until, .. } = self.processes[process];
            if !alive || cut_until > self.now || self.chance(10.0) {
                continue;
            }
            let at = self.now + self.delay();
            let lease = self.server.lease.clone();
            self.processes[process].glimpses.push((at, lease));
        }
    }

    fn hear(&mut self, process: usize) {
        let clock = self.clock(process);
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.processes[process].glimpses)
            .into_iter()
            .partition(|(at, _)| *at <= self.now);
        self.processes[process].glimpses = later;
        for (_, lease) in due {
            self.processes[process].election.glimpsed(lease, clock);
        }
        let Some(sent) = self.processes[process].sent else { return };
        let back = self.flights.iter().position(|flight| {
            flight.process == process
                && flight.returns.is_some_and(|at| at <= self.now)
                && flight.answer.is_some()
        });
        let retry_at = sent + self.timing.retry_period;
        let this = &mut self.processes[process];
        let led = this.election.lost_at().is_some();
        match back.and_then(|index| self.flights.swap_remove(index).answer) {
            Some(Answer::Found(found)) => this.election.read(found, clock),
            Some(Answer::Written(Some(lease))) if lease_object::holder(&lease).is_some() => {
                this.election.held(lease, sent, clock)
            }
            Some(Answer::Written(_)) => this.alive = false,
            Some(Answer::Conflict) => this.election.conflict(retry_at),
            None if clock >= sent + self.timing.request() => {
                this.election.unanswered(retry_at);
                self.flights
                    .iter_mut()
                    .filter(|flight| flight.process == process)
                    .for_each(|flight| flight.returns = None);
            }
            None => return,
        }
        this.sent = None;
        self.takeovers += u64::from(!led && this.election.lost_at().is_some());
        if !this.alive {
            self.boot(None);
        }
    }

    fn act(&mut self, process: usize) {
        let clock = self.clock(process);
        let Process { election, name, sent, stopping, last_call, alive, cut_until, .. } =
            &mut self.processes[process];
        if sent.is_some() || !*alive {
            return;
        }
        let wall = Time::from_micros(0) + clock;
        let drained = last_call.is_none_or(|at| self.now >= at + CALL + CALL / 10);
        let request = if *stopping && drained {
            election.resign();
            match (election.leave(clock), election.seen()) {
                (Leave::Read, _) => Request::Read,
                (Leave::Release, Some(seen)) => {
                    Request::Replace(lease_object::released(seen, None, wall))
                }
                (Leave::Release, None) => panic!("nothing to release"),
                (Leave::WaitUntil(_), _) => return,
                (Leave::Done, _) => {
                    *alive = false;
                    return self.boot(None);
                }
            }
        } else {
            match (election.next(clock), election.seen()) {
                (Next::Read, _) => Request::Read,
                (Next::Create, _) => {
                    Request::Create(lease_object::fresh("pontoon", name, self.timing.lease, wall))
                }
                (Next::Replace, Some(seen)) => {
                    Request::Replace(lease_object::claimed(seen, name, self.timing.lease, wall))
                }
                (Next::Replace, None) => panic!("nothing to replace"),
                (Next::StepDown, _) => return election.step_down(),
                (Next::WaitUntil(_), _) => return,
            }
        };
        *sent = Some(clock);
        if *cut_until > self.now {
            return;
        }
        let arrives = self.now + self.delay();
        let returns = if self.chance(20.0) { None } else { Some(arrives + self.delay()) };
        self.flights.push(Flight { process, request, arrives, returns, answer: None });
    }

    /// At most one process leads, so Kubernetes writes, too, have a single author.
    fn agree(&self) {
        let leads = |process: &usize| {
            self.processes[*process].election.standing().leads(self.clock(*process))
        };
        let alive = (0..self.processes.len()).filter(|process| self.processes[*process].alive);
        let leaders: Vec<_> =
            alive.filter(leads).filter(|process| !self.processes[*process].stopping).collect();
        assert!(leaders.len() <= 1, "{leaders:?} all lead at {:?}", self.now);
    }

    /// Calls whenever the guard permits, and checks that the calls of all other processes have
    /// taken effect.
    fn call(&mut self, process: usize) {
        let clock = self.clock(process);
        let this = &self.processes[process];
        if !this.alive
            || this.stopping
            || this.election.standing().permit(clock, CALL + self.timing.margin).is_err()
        {
            return;
        }
        // Unequal rates shorten the settling, by less than the margin.
        let settle =
            self.timing.settle - if self.drift > 0.0 { self.timing.margin } else { Duration::ZERO };
        for other in
            self.processes.iter().filter(|other| other.name != this.name && !other.released)
        {
            let over = other.last_call.map(|at| at + CALL + settle);
            assert!(
                over.is_none_or(|over| self.now >= over),
                "{} calls at {:?}, but a call of {} takes effect until {over:?}",
                this.name,
                self.now,
                other.name,
            );
        }
        self.processes[process].last_call = Some(self.now);
        self.calls += 1;
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.tick();
        }
    }
}

fn simulate(drift: f64, seeds: std::ops::Range<u64>) {
    let (mut calls, mut takeovers, mut inherited) = (0, 0, 0);
    for seed in seeds {
        let mut world = World::new(seed, drift, 3);
        world.run(Duration::from_secs(300));
        // Without further faults, a single process leads and may act.
        world.faulty = false;
        world.run(Duration::from_secs(90));
        let before = world.calls;
        world.run(Duration::from_secs(1));
        assert_eq!(
            world.calls - before,
            20,
            "seed {seed}: exactly one must call in each of the 20 ticks"
        );
        (calls, takeovers) = (calls + world.calls, takeovers + world.takeovers);
        inherited += world.inherited;
    }
    assert!(
        calls > 10_000 && takeovers > 100 && inherited > 50,
        "too little happened: {calls} calls, {takeovers} takeovers, {inherited} of them in a pod"
    );
}

#[test]
fn no_two_leaders_calls_overlap_or_settle_together_under_any_seeded_schedule() {
    simulate(0.0, 0..150);
}

#[test]
fn clocks_of_rates_five_percent_apart_do_not_let_calls_overlap() {
    simulate(0.025, 1000..1150);
}
