//! Maps series to objects, so that the series of an object appear and disappear with it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{AddressAction, FailureKind, VipAction};
use pontoon_core::addresses::verdict::Verdict;
use pontoon_core::model::ObjectKey;
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::vips::verdict::VipVerdict;
use pontoon_core::world::World;
use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{GaugeVec, HistogramVec, IntCounterVec};

/// The series of a kind. Each front shows those of its predecessor.
pub trait Series: fmt::Debug + Send + Sync {
    /// Shows the verdict on an object's addresses.
    fn addresses(&self, _: SeriesLabels<'_>, _: &Verdict, _: &mut ObjectSeries) {}

    /// Shows the verdict on an object's records.
    fn records(&self, _: SeriesLabels<'_>, _: &RecordVerdict, _: &mut ObjectSeries) {}

    /// Counts an assignment of an object's address, successful or failed.
    fn assigned(&self, _: SeriesLabels<'_>, _: IpAddr, _: bool, _: &mut ObjectSeries) {}

    /// Counts an unassignment of an object's address, successful or failed.
    fn unassigned(&self, _: SeriesLabels<'_>, _: bool, _: &mut ObjectSeries) {}

    /// Counts a finished write for the VIPs of an object.
    fn vip_written(&self, _: VipWriteSeries<'_>) {}

    /// Counts a plan that considered the VIPs of an object, and its duration.
    fn vips_planned(&self, _: &str, _: &VipVerdict, _: Duration) {}

    /// Shows what all objects share.
    fn stock(&self, _: &World) {}

    /// Shows whether this replica leads.
    fn leads(&self, _: bool) {}

    /// Shows whether this replica is ready and healthy.
    fn health(&self, _: bool, _: bool) {}

    /// Counts a finished call about addresses, of any object.
    fn called(&self, _: CallSeries<'_>) {}

    /// Counts a plan that considered an object, and its duration. `well` says whether the plan found
    /// no failure.
    fn planned(&self, _: SeriesLabels<'_>, _: Duration, _: bool, _: &mut ObjectSeries) {}
}

/// The replica, as its series name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaLabels {
    /// The name of the cluster (`CLUSTER_NAME`), if given.
    pub cluster: Option<String>,
    /// The name of the pod.
    pub pod: String,
    /// The version to show (`CONTROLLER_VERSION`), if given.
    pub version: Option<String>,
}

/// A finished call about addresses, as the series of a kind count it.
#[derive(Clone, Copy, Debug)]
pub struct CallSeries<'a> {
    /// The provider.
    pub provider: &'a str,
    /// The call.
    pub call: &'a AddressAction,
    /// The failure, if any.
    pub failure: Option<FailureKind>,
    /// The duration.
    pub took: Duration,
}

/// A finished write for VIPs, as the series of a kind count it.
#[derive(Clone, Copy, Debug)]
pub struct VipWriteSeries<'a> {
    /// The name of the object's class, or empty.
    pub class: &'a str,
    /// The write.
    pub action: &'a VipAction,
    /// The failure, if any.
    pub failure: Option<FailureKind>,
    /// The time of the answer.
    pub now: Time,
}

/// The labels of an object's series.
#[derive(Clone, Copy, Debug)]
pub struct SeriesLabels<'a> {
    /// The object.
    pub key: &'a ObjectKey,
    /// The object's provider.
    pub provider: &'a str,
    /// The object's DNS name, or empty.
    pub dns: &'a str,
}

/// The objects with series.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// A replica that does not lead shows no objects, because its view is incomplete.
    pub leads: bool,
    objects: BTreeMap<ObjectKey, ObjectSeries>,
}

/// The series of an object.
#[derive(Debug, Default)]
pub struct ObjectSeries {
    uid: String,
    gauges: Gauges,
    conditions: Gauges,
    counters: BTreeMap<(&'static str, Vec<String>), Counting>,
}

/// Shown gauges with their families, by the family's identity and the labels.
type Gauges = BTreeMap<(u64, Vec<String>), GaugeVec>;

/// A family of series that only grow.
#[derive(Clone, Debug)]
pub enum Counting {
    /// A counter.
    Counter(IntCounterVec),
    /// A histogram.
    Histogram(HistogramVec),
}

impl Counting {
    fn forget(&self, labels: &[String]) {
        match self {
            Self::Counter(family) => remove(family, labels),
            Self::Histogram(family) => remove(family, labels),
        }
    }
}

impl Book {
    /// Adds an object. A new object of the same name starts from zero.
    pub fn see(&mut self, key: &ObjectKey, uid: &str) {
        let object = self.objects.entry(key.clone()).or_default();
        if object.uid != uid {
            object.clear();
            uid.clone_into(&mut object.uid);
        }
    }

    /// An object with visible series: known, and this replica leads. Calls may finish after their
    /// object is gone.
    pub fn shown(&mut self, key: &ObjectKey) -> Option<&mut ObjectSeries> {
        self.objects.get_mut(key).filter(|_| self.leads)
    }

    /// Removes an object and its series.
    pub fn forget(&mut self, key: &ObjectKey) {
        if let Some(mut object) = self.objects.remove(key) {
            object.clear();
        }
    }

    /// Removes the series of all objects.
    pub fn clear(&mut self) {
        self.objects.values_mut().for_each(ObjectSeries::clear);
    }
}

impl ObjectSeries {
    /// Replaces the gauges of the object.
    pub fn set(&mut self, gauges: Vec<(GaugeVec, Vec<String>, f64)>) {
        replace(&mut self.gauges, gauges);
    }

    /// Replaces the conditions of the object.
    pub fn set_conditions(&mut self, family: &GaugeVec, conditions: Vec<Vec<String>>) {
        let gauges = conditions.into_iter().map(|labels| (family.clone(), labels, 1.0));
        replace(&mut self.conditions, gauges);
    }

    /// Registers a counter. Counters stay as long as their subject, because a counter that
    /// disappears and returns looks like a restart in a rate.
    pub fn count(&mut self, name: &'static str, labels: Vec<String>, family: Counting) {
        self.counters.entry((name, labels)).or_insert(family);
    }

    /// Whether a counter is registered.
    pub fn counts(&self, name: &'static str, labels: &[String]) -> bool {
        self.counters.contains_key(&(name, labels.to_vec()))
    }

    /// Removes the counters of a name with labels that do not satisfy `such`.
    pub fn keep(&mut self, name: &str, such: impl Fn(&[String]) -> bool) {
        self.counters.retain(|(of, labels), family| {
            let kept = *of != name || such(labels);
            if !kept {
                family.forget(labels);
            }
            kept
        });
    }

    fn clear(&mut self) {
        replace(&mut self.gauges, []);
        replace(&mut self.conditions, []);
        for ((_, labels), family) in std::mem::take(&mut self.counters) {
            family.forget(&labels);
        }
    }
}

/// Replaces shown gauges. A series that stays is kept, because a new series costs many times as much as
/// a new value.
fn replace(shown: &mut Gauges, wanted: impl IntoIterator<Item = (GaugeVec, Vec<String>, f64)>) {
    let mut former = std::mem::take(shown);
    for (family, labels, value) in wanted {
        family.with_label_values(&texts(&labels)).set(value);
        let series = (identity(&family), labels);
        former.remove(&series);
        shown.insert(series, family);
    }
    for ((_, labels), family) in former {
        remove(&family, &labels);
    }
}

fn identity(family: &GaugeVec) -> u64 {
    family.desc().first().map_or(0, |described| described.id)
}

fn remove<T: MetricVecBuilder>(family: &MetricVec<T>, labels: &[String]) {
    // A missing series is fine.
    drop(family.remove_label_values(&texts(labels)));
}

pub(crate) fn texts(labels: &[String]) -> Vec<&str> {
    labels.iter().map(String::as_str).collect()
}
