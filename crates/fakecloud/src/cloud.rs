//! A cloud: the store, its knobs and its record behind a single lock, and the steps of a request
//! through them. An effect has exclusive access to the store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fakehttp::{Arriving, Clock, Emulated, Log, Loss, Recording, http_date, whole_seconds};
use http::{HeaderName, Response, StatusCode, header};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::call::{Call, Reply};
use crate::emulators::{self, Emulator};
use crate::faults::{Answer, Arrival, CloudWeather, Rules, Weather};
use crate::knobs::Knobs;
use crate::limit::{Meter, RateLimit, Refused, Usage};
use crate::observer::{Happening, Observer};
use crate::record::{self, Answered, Exchange};
use crate::request_context::Turn;
use crate::store::Store;

/// All state behind the lock.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) knobs: Knobs,
    pub(crate) rules: Rules,
    pub(crate) log: Log<Exchange>,
    /// Number of arrived requests that may change the state.
    pub(crate) mutations: u64,
    pub(crate) dice: fastrand::Rng,
    /// Every request before this time gets 429.
    pub(crate) throttled_until: Option<Instant>,
    pub(crate) dump_to: Option<PathBuf>,
    pub(crate) observer: Observer,
    meters: BTreeMap<(&'static str, String), Meter>,
    /// Wake-up time of the task that settles the next due operation.
    armed: Option<Instant>,
}

/// A cloud, shared by its handles, services, servers and running requests.
#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    clock: Clock,
    changes: watch::Sender<u64>,
}

impl Shared {
    pub(crate) fn new(base: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            world: Mutex::new(World {
                store: Store::default(),
                knobs: Knobs::default(),
                rules: Rules::default(),
                log: Log::new(Recording::All),
                mutations: 0,
                dice: fastrand::Rng::with_seed(0),
                throttled_until: None,
                dump_to: std::env::var_os("PONTOON_EXCHANGES")
                    .filter(|folder| !folder.is_empty())
                    .map(PathBuf::from),
                observer: Observer::default(),
                meters: BTreeMap::new(),
                armed: None,
            }),
            clock: Clock::starting_at(base),
            changes: watch::Sender::new(0),
        })
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Notified of every arrival, effect, loss and change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the world after all due operations have taken effect.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        let mut world = self.lock();
        world.store.settle(self.clock.now());
        look(&world)
    }

    /// Changes the world, with due operations settled before and after, and wakes waiters.
    pub(crate) fn act<T>(self: &Arc<Self>, act: impl FnOnce(&mut World, Instant) -> T) -> T {
        self.act_as(Happening::Change, act)
    }

    fn act_as<T>(
        self: &Arc<Self>,
        what: Happening<'_>,
        act: impl FnOnce(&mut World, Instant) -> T,
    ) -> T {
        let now = self.clock.now();
        let mut world = self.lock();
        let before = world.store.revision();
        world.store.settle(now);
        let result = act(&mut world, now);
        world.store.settle(now);
        if what != Happening::Change || world.store.revision() != before {
            let World { observer, store, .. } = &mut *world;
            if let Some(told) = observer.told() {
                told(what, store.present());
            }
        }
        self.arm(&mut world);
        drop(world);
        self.changes.send_modify(|n| *n += 1);
        result
    }

    /// Schedules a wake-up of waiters for the next due operation.
    fn arm(self: &Arc<Self>, world: &mut World) {
        let Some(due) = world.store.next_due() else {
            return;
        };
        if world.armed.is_some_and(|at| at <= due && at > self.clock.now()) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        world.armed = Some(due);
        let cloud = Arc::downgrade(self);
        runtime.spawn(async move {
            tokio::time::sleep_until(due).await;
            if let Some(cloud) = cloud.upgrade() {
                cloud.act(|world, _| {
                    if world.armed == Some(due) {
                        world.armed = None;
                    }
                });
            }
        });
    }
}

impl Emulated for Shared {
    type Call = Call;
    type Answer = Answer;
    type Own = CloudWeather;
    type Reply = Reply;
    type Body = Bytes;

    fn arrive(self: &Arc<Self>, call: &Call) -> Arrival {
        let vendor = emulators::of(call);
        let mutates = vendor.map_or(!call.method.is_safe(), |vendor| vendor.changes(call));
        let clock = self.clock;
        self.act(|world, now| {
            let mut weather = world.weather(call, mutates);
            world.mutations += u64::from(mutates);
            let sequence = world.log.arrival(|sequence| Exchange {
                sequence,
                arrived: now,
                at: clock.wall(now).to_string(),
                method: call.method.to_string(),
                target: call.target.clone(),
                user_agent: call.header(header::USER_AGENT).map(str::to_owned),
                body: call.body.clone(),
                mutates,
                changed: false,
                raw: writes_raw(&weather),
                answer: None,
                lost: None,
            });
            let jitter = draw(&mut world.dice, world.knobs.jitter);
            weather.before += world.knobs.latency_before + jitter;
            weather.after += world.knobs.latency_after;
            Arrival { sequence, weather }
        })
    }

    async fn take_effect(self: &Arc<Self>, call: &Call, arrival: &Arrival) -> Reply {
        let clock = self.clock;
        self.act_as(Happening::Effect { user_agent: call.user_agent() }, |world, now| {
            let before = world.store.revision();
            let mut reply = world.reply(clock, now, call, arrival);
            if arrival.weather.own.duplicated {
                // The second copy finds the action of the first under way, however short.
                reply = world.reply(clock, now, call, arrival);
            }
            reply.set(header::DATE, &http_date(clock.wall(now)));
            let changed = world.store.revision() != before;
            if let Some(entry) = world.log.entry(arrival.sequence) {
                entry.changed = changed;
                entry.answer = Some(Answered::new(reply.status, &reply.headers, &reply.body));
            }
            reply
        })
    }

    fn respond(self: &Arc<Self>, _: &Call, _: &Arrival, reply: Reply) -> Response<Bytes> {
        reply.into_response()
    }

    fn lose(self: &Arc<Self>, call: &Call, sequence: u64, loss: Loss) {
        let what = match loss {
            Loss::BeforeEffect => Happening::Lost { user_agent: call.user_agent() },
            Loss::AfterEffect | Loss::CallerGone => Happening::Change,
        };
        self.act_as(what, |world, _| {
            if let Some(entry) = world.log.entry(sequence) {
                entry.lost = Some(loss);
            }
        });
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let world = self.world.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &world.dump_to {
            // Errors cannot be reported from a drop. Readers of the folder notice a missing file.
            let _ = record::dump(&world.log, folder);
        }
    }
}

/// A request at the moment of its effect.
struct Case<'a> {
    vendor: &'static dyn Emulator,
    clock: Clock,
    now: Instant,
    call: &'a Call,
    weather: &'a Weather,
    request_id: String,
}

impl World {
    /// The faults of an arriving request.
    fn weather(&mut self, call: &Call, mutates: bool) -> Weather {
        let arriving = Arriving {
            method: &call.method,
            path: &call.path,
            user_agent: call.user_agent(),
            body: &call.body,
            mutates,
            watches: false,
        };
        self.rules.weather(&arriving, &call.faults, &mut self.dice)
    }

    fn reply(&mut self, clock: Clock, now: Instant, call: &Call, arrival: &Arrival) -> Reply {
        let Some(vendor) = emulators::of(call) else {
            let what = format!("fakecloud knows no vendor with the path {}", call.path);
            return Reply::json(StatusCode::NOT_IMPLEMENTED, &json!({"error": what}));
        };
        let weather = &arrival.weather;
        let request_id = format!("00000000-0000-4000-8000-{:012x}", arrival.sequence + 1);
        let case = Case { vendor, clock, now, call, weather, request_id };
        let mut usage = self.untouched_budget(vendor, now);
        let mut reply = self.outcome(&case, &mut usage);
        usage.remaining = self.knobs.rate_remaining.unwrap_or(usage.remaining);
        vendor.show_budget(&usage, &clock, &mut reply);
        for answer in weather.answer.iter().chain(&weather.answer_after) {
            for (name, value) in &answer.headers {
                if let Ok(name) = HeaderName::try_from(name) {
                    reply.set(name, value);
                }
            }
        }
        reply
    }

    /// The first reply that applies: throttled, a forced answer, no credential, over budget, the
    /// vendor's own answer.
    fn outcome(&mut self, case: &Case<'_>, usage: &mut Usage) -> Reply {
        let Case { vendor, clock, now, call, weather, request_id } = case;
        if let Some(until) = self.throttled_until.filter(|until| until > now) {
            usage.remaining = 0;
            usage.reset = until;
            return too_many(case, Some(until - *now));
        }
        if let Some(answer) = &weather.answer {
            return forced(case, answer);
        }
        let Some(credential) = vendor.credential(call, &self.knobs, clock.wall(*now)) else {
            return vendor.unknown_credential(call, request_id);
        };
        if let Some(limit) = &self.knobs.rate {
            let meter = self.meters.entry((vendor.name(), credential)).or_default();
            *usage = meter.take(limit, *now);
        }
        match usage.refused {
            Some(Refused::Burst(wait)) => return too_many(case, Some(wait)),
            Some(Refused::Window) => return too_many(case, None),
            None => {}
        }
        let mut turn = Turn {
            store: &mut self.store,
            knobs: &self.knobs,
            weather,
            clock: *clock,
            now: *now,
            request_id: request_id.clone(),
        };
        let reply = vendor.answer(&mut turn, call);
        weather.answer_after.as_ref().map_or(reply, |answer| forced(case, answer))
    }

    fn untouched_budget(&self, vendor: &dyn Emulator, now: Instant) -> Usage {
        let RateLimit { limit, window, .. } =
            self.knobs.rate.unwrap_or_else(|| vendor.usual_rate());
        let remaining = limit.saturating_sub(1);
        Usage { limit, remaining, window, reset: now + window, refused: None }
    }
}

/// Whether a rule replaces the vendor's format of the answer.
fn writes_raw(weather: &Weather) -> bool {
    let mut answers = weather.answer.iter().chain(&weather.answer_after);
    answers.any(|answer| answer.raw.is_some())
}

fn too_many(case: &Case<'_>, wait: Option<Duration>) -> Reply {
    let mut reply = case.vendor.error(StatusCode::TOO_MANY_REQUESTS, None, &case.request_id);
    if let Some(wait) = wait {
        let seconds = whole_seconds(wait).max(1);
        reply.set(header::RETRY_AFTER, &seconds.to_string());
    }
    reply
}

fn forced(case: &Case<'_>, answer: &Answer) -> Reply {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Some((content_type, body)) = &answer.raw else {
        return case.vendor.error(status, answer.message.as_deref(), &case.request_id);
    };
    let mut reply = Reply::empty(status);
    reply.set(header::CONTENT_TYPE, content_type);
    reply.body = body.clone().into();
    reply
}

fn draw(dice: &mut fastrand::Rng, up_to: Duration) -> Duration {
    let nanos = u64::try_from(up_to.as_nanos()).unwrap_or(u64::MAX);
    if nanos == 0 {
        return Duration::ZERO;
    }
    Duration::from_nanos(dice.u64(0..=nanos))
}
