//! Metrics about other controllers: whether this replica stands aside, and the Leases elsewhere.

use std::collections::BTreeSet;

use pontoon_core::verdict::Restraint;
use prometheus::{GaugeVec, Opts, Registry};

use crate::fronts::Controllers;
use crate::leadership::LEASE;

/// Another controller is at work, or another Pontoon acts.
pub const COMPETING: &str = Restraint::WORDS[0];

/// Whether another controller is at work has been unknown for long.
pub const UNSURE: &str = Restraint::WORDS[1];

/// Gauges about other controllers. Clones share the gauges.
#[derive(Clone, Debug)]
pub struct RivalMetrics {
    aside: GaugeVec,
    elsewhere: GaugeVec,
}

impl RivalMetrics {
    /// The gauges of a replica that serves these kinds, all at zero.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    pub fn register(
        registry: &Registry,
        controllers: &Controllers,
    ) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, label: &str| {
            let gauge = GaugeVec::new(Opts::new(name, help), &[label])?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let help = "1 while this replica leads and acts for no object of some kind, by reason.";
        let aside = gauge("pontoon_standing_aside", help, "reason")?;
        let help = "Leases of other controllers that are renewed in namespaces that do not count.";
        let elsewhere = gauge("pontoon_leases_elsewhere", help, "lease")?;
        let this = Self { aside, elsewhere };
        this.aside(&BTreeSet::new());
        for lease in controllers.predecessors().map(|one| one.lease).chain([LEASE]) {
            this.elsewhere(lease, 0);
        }
        Ok(this)
    }

    /// Sets the reasons for which this replica leads but stands aside.
    pub fn aside(&self, reasons: &BTreeSet<&str>) {
        for one in [COMPETING, UNSURE] {
            let holds = reasons.contains(one);
            self.aside.with_label_values(&[one]).set(f64::from(u8::from(holds)));
        }
    }

    /// Sets the number of renewed Leases of a name in namespaces that do not count.
    pub fn elsewhere(&self, lease: &str, count: usize) {
        self.elsewhere.with_label_values(&[lease]).set(count as f64);
    }
}
