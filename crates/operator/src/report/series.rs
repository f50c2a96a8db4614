//! Which series tell of which object, so that they come and go with it.

use std::collections::BTreeMap;

use pontoon_core::model::PoolKey;
use prometheus::core::{MetricVec, MetricVecBuilder};
use prometheus::{GaugeVec, HistogramVec, IntCounterVec};

/// Whose series a replica shows.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// A replica that does not lead shows nothing of any object: it does not know.
    pub leads: bool,
    objects: BTreeMap<PoolKey, Object>,
}

/// What is shown of one object.
#[derive(Debug, Default)]
pub(super) struct Object {
    uid: String,
    gauges: Vec<(GaugeVec, Vec<String>)>,
    conditions: Vec<(GaugeVec, Vec<String>)>,
    counters: BTreeMap<(&'static str, Vec<String>), Counting>,
}

/// A family of series that only grow.
#[derive(Clone, Debug)]
pub(super) enum Counting {
    Counter(IntCounterVec),
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
    /// An object is there. Another one of the same name begins from nothing.
    pub fn see(&mut self, key: &PoolKey, uid: &str) {
        let object = self.objects.entry(key.clone()).or_default();
        if object.uid != uid {
            object.clear();
            uid.clone_into(&mut object.uid);
        }
    }

    /// An object that is shown: there, and ours to tell of. A call may well come back after
    /// its object has gone.
    pub fn shown(&mut self, key: &PoolKey) -> Option<&mut Object> {
        self.objects.get_mut(key).filter(|_| self.leads)
    }

    /// An object is gone, and its series with it.
    pub fn forget(&mut self, key: &PoolKey) {
        if let Some(mut object) = self.objects.remove(key) {
            object.clear();
        }
    }

    /// Shows nothing of any object.
    pub fn clear(&mut self) {
        self.objects.values_mut().for_each(Object::clear);
    }
}

impl Object {
    /// What is true of the object now, in place of what was.
    pub fn set(&mut self, gauges: Vec<(GaugeVec, Vec<String>, f64)>) {
        self.clear_gauges();
        for (family, labels, value) in gauges {
            family.with_label_values(&texts(&labels)).set(value);
            self.gauges.push((family, labels));
        }
    }

    /// The conditions that the object has now, in place of those that it had.
    pub fn set_conditions(&mut self, family: &GaugeVec, conditions: Vec<Vec<String>>) {
        self.clear_conditions();
        for labels in conditions {
            family.with_label_values(&texts(&labels)).set(1.0);
            self.conditions.push((family.clone(), labels));
        }
    }

    /// Something is about to be counted. Counters stay for as long as what they count does:
    /// one that is taken away and comes back looks like a restart to whoever takes its rate.
    pub fn count(&mut self, name: &'static str, labels: Vec<String>, family: Counting) {
        self.counters.entry((name, labels)).or_insert(family);
    }

    /// Of the counters of this name, only those with such labels are kept.
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
        self.clear_gauges();
        self.clear_conditions();
        for ((_, labels), family) in std::mem::take(&mut self.counters) {
            family.forget(&labels);
        }
    }

    fn clear_conditions(&mut self) {
        for (family, labels) in self.conditions.drain(..) {
            remove(&family, &labels);
        }
    }

    fn clear_gauges(&mut self) {
        for (family, labels) in self.gauges.drain(..) {
            remove(&family, &labels);
        }
    }
}

fn remove<T: MetricVecBuilder>(family: &MetricVec<T>, labels: &[String]) {
    // Not there any more is what we want.
    drop(family.remove_label_values(&texts(labels)));
}

pub(super) fn texts(labels: &[String]) -> Vec<&str> {
    labels.iter().map(String::as_str).collect()
}
