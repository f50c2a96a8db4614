//! Reports the VIPs of objects.

use std::collections::BTreeMap;
use std::time::Duration;

use pontoon_core::action::{EndpointWrite, Finished, IngressWrite, VipAction};
use pontoon_core::model::{ObjectKey, Text};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::Outlook;
use pontoon_core::vips::model::Job;
use pontoon_core::vips::verdict::{Part, VipReason, VipVerdict};
use pontoon_core::world::World;

use super::announce::{Announcer, millis};
use super::announce_withheld;
use super::events::{Weight, about};
use super::object_series::VipWriteSeries;
use super::objects::Objects;

/// The last report about the VIPs of an object.
#[derive(Debug, Default)]
pub(super) struct ToldVips {
    /// The reason in the stored status, or of the last report about the object as a whole.
    whole: Option<&'static str>,
    /// The reason of each VIP. Empty before the first verdict.
    parts: BTreeMap<Job, &'static str>,
}

impl ToldVips {
    /// The report in a stored status.
    pub fn new(said: Option<&'static str>) -> Self {
        Self { whole: said, parts: BTreeMap::new() }
    }
}

/// A report about one VIP, or about all VIPs of an object.
struct News {
    word: &'static str,
    weight: Weight,
    note: String,
}

impl Announcer {
    /// Reports the VIP verdicts of a plan.
    pub(super) fn take_vips(
        &mut self,
        objects: &mut Objects,
        plan: &Plan,
        world: &World,
        took: Duration,
    ) {
        for (key, verdict) in &plan.vips {
            let Some(object) = objects.get_mut(key) else { continue };
            self.metrics.vips_planned(key.kind, &class_of(world, key), verdict, took);
            if object.vips.as_deref() == Some(verdict) {
                continue;
            }
            self.metrics.conditions(key, object.face.conditions());
            // An object with neither a VIP nor a condition is new to us; others were reported before.
            let is_new = world.cluster(key).is_some_and(|cluster| cluster.host.is_none())
                && object.face.conditions().is_empty();
            for News { word, weight, note } in news(&mut object.told_vips, verdict, is_new) {
                tracing::info!(object = %key, reason = word, "{note}");
                self.events.tell(about(key, &object.uid), weight, word, &note);
            }
        }
    }

    /// Reports a finished write. Failures are reported by the verdict.
    pub(super) fn vip_written(
        &mut self,
        objects: &Objects,
        world: &World,
        action: &VipAction,
        finished: &Finished,
    ) {
        let (key, now) = (action.cluster(), self.env.now());
        let failure = finished.outcome.result.as_ref().err().map(|failure| failure.kind);
        let class = class_of(world, key);
        let write = VipWriteSeries { class: &class, action, failure, now };
        self.metrics.vip_written(key.kind, write);
        let (role, ip, claimed_at) = match action {
            VipAction::SetEndpoint(EndpointWrite { host, claimed_at, .. }) => {
                ("control plane", host, claimed_at)
            }
            VipAction::SetIngress(IngressWrite { ip, claimed_at, .. }) => {
                ("ingress", ip, claimed_at)
            }
            _ => return,
        };
        let Some(object) = objects.get(key).filter(|_| failure.is_none()) else { return };
        let took = millis(now.since(*claimed_at));
        let kind = key.kind.name;
        let note = format!("{role}: {ip} written on the {kind}, {took} ms after its claim");
        tracing::info!(object = %key, %ip, took_ms = took, "{note}");
        self.events.tell(about(key, &object.uid), Weight::Normal, "Allocated", &note);
    }
}

/// The name of an object's class, or empty.
fn class_of(world: &World, key: &ObjectKey) -> Text {
    let class = world.cluster(key).and_then(|cluster| cluster.class.as_ref());
    class.map_or_else(|| "".into(), |class| class.name.clone())
}

/// What a verdict says that was not told before.
fn news(told: &mut ToldVips, verdict: &VipVerdict, is_new: bool) -> Vec<News> {
    let of_whole = |word| {
        let note = verdict.to_string();
        News { word, weight: weight(verdict), note }
    };
    if verdict.withheld.is_some() || verdict.parts.is_empty() {
        let word = verdict.word();
        let is_told = told.whole.replace(word) == Some(word);
        told.parts.clear();
        let is_news = verdict.withheld.is_some() || is_event(&verdict.reason);
        return if is_told || !is_news { Vec::new() } else { vec![of_whole(word)] };
    }
    let said = told.whole.take();
    let is_first = told.parts.is_empty();
    let mut all = Vec::new();
    for (job, part) in &verdict.parts {
        let word = part.reason.word();
        let before = told.parts.insert(*job, word);
        let is_known = before == Some(word)
            // A new leader does not repeat what the status says, or what is in order.
            || is_first && said == Some(word)
            || is_first && !is_new && part.reason.outlook() == Outlook::Well && !part.reason.warns();
        if !is_known && is_event(&part.reason) {
            let one = alone(verdict, *job, part);
            all.push(News { word, weight: weight(&one), note: one.to_string() });
        }
    }
    told.parts.retain(|job, _| verdict.parts.contains_key(job));
    all
}

/// The verdict on one VIP alone.
fn alone(verdict: &VipVerdict, job: Job, part: &Part) -> VipVerdict {
    VipVerdict {
        reason: part.reason.clone(),
        job: Some(job),
        parts: [(job, part.clone())].into(),
        names: verdict.names,
        withheld: None,
    }
}

/// Whether a reason deserves an event. Passing states do not; a VIP in place is reported when
/// written.
fn is_event(reason: &VipReason) -> bool {
    !matches!(
        reason,
        VipReason::Allocated
            | VipReason::Disabled
            | VipReason::Claiming
            | VipReason::AwaitingAddress(_)
            | VipReason::Writing(_)
            | VipReason::AwaitingOldClaim(_)
            | VipReason::Failed(..)
            | VipReason::Paused
            | VipReason::MovedAway
            | VipReason::Deleting
    )
}

fn weight(verdict: &VipVerdict) -> Weight {
    match &verdict.withheld {
        Some(withheld) => announce_withheld::weight(withheld),
        None if verdict.reason.warns() => Weight::Warning,
        None => Weight::Normal,
    }
}
