//! FLIPOP's series of record sets.

use pontoon_core::records::verdict::RecordVerdict;
use prometheus::{GaugeVec, Opts, Registry};

use crate::report::metrics::registered;
use crate::report::object_series::{ObjectSeries, Series, SeriesLabels};

const LABELS: &[&str] = &["namespace", "name", "provider", "dns"];

/// The series of record sets.
#[derive(Debug)]
pub(super) struct RecordSetSeries {
    records: GaugeVec,
}

impl RecordSetSeries {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = Opts::new("flipop_nodednsrecordset_records", "DNS records under management.");
        Ok(Self { records: registered(registry, GaugeVec::new(opts, LABELS)?)? })
    }
}

impl Series for RecordSetSeries {
    fn records(
        &self,
        labels: SeriesLabels<'_>,
        verdict: &RecordVerdict,
        object: &mut ObjectSeries,
    ) {
        // Like the predecessor, show the number of wanted addresses, not of listed ones.
        let Some(wanted) = verdict.wanted else { return };
        let SeriesLabels { key, provider, dns } = labels;
        let labels = vec![
            key.namespace.to_string(),
            key.name.to_string(),
            provider.to_owned(),
            dns.to_owned(),
        ];
        object.set(vec![(self.records.clone(), labels, wanted as f64)]);
    }
}
