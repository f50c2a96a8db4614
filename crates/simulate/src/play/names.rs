//! Users' changes of names, and changes of zones by hand.

use std::net::Ipv4Addr;

use fakecloud::Record;

use super::Player;
use crate::cluster::SOMEBODYS;
use crate::names::{Host, LABELS, NameEvent, ZoneEvent, label};

/// The TTL set by hand.
const SLOW: u32 = 3_600;

impl Player<'_> {
    pub(super) async fn name(&self, which: usize, what: NameEvent, begins: bool) {
        self.cluster.change_name(which, what, begins).await;
    }

    pub(super) fn zone(&mut self, event: usize, what: ZoneEvent, begins: bool) {
        match (what, begins) {
            (ZoneEvent::Adds(host, name), true) => self.add_record(host, &label(name)),
            (ZoneEvent::Edits(which), true) => {
                self.edit_record(which, |record| {
                    record.data = match record.kind.as_str() {
                        "AAAA" => elsewhere(which).to_ipv6_mapped().to_string(),
                        _ => elsewhere(which).to_string(),
                    };
                });
            }
            (ZoneEvent::Slows(which), true) => self.edit_record(which, |record| {
                // Records proxied by Cloudflare have the automatic TTL.
                record.proxied = record.comment.is_some();
                record.ttl = if record.proxied { 1 } else { SLOW };
            }),
            (ZoneEvent::Deletes(which), true) => {
                if let Some((zone, record)) = self.record(which) {
                    self.by_hand(|| _ = self.stage.cloud.human_deletes_record(zone, record.id));
                }
            }
            (ZoneEvent::Vanishes(host) | ZoneEvent::Remade(host), true) => {
                let mut gone = None;
                self.by_hand(|| gone = self.stage.cloud.human_deletes_zone(host.zone()));
                if let Some(mut zone) = gone {
                    if matches!(what, ZoneEvent::Remade(_)) {
                        zone.records.retain(|_, record| !is_of_names(record));
                    }
                    self.vanished.push((event, zone));
                }
            }
            (ZoneEvent::Vanishes(_) | ZoneEvent::Remade(_), false) => {
                let back: Vec<_> = self.vanished.extract_if(.., |(one, _)| *one == event).collect();
                for (_, zone) in back {
                    self.by_hand(|| self.stage.cloud.human_restores_zone(zone));
                }
            }
            _ => {}
        }
    }

    /// Whether the zone of a host exists.
    fn has_zone(&self, host: Host) -> bool {
        self.stage.cloud.look(|state| state.zone(host.zone()).is_some())
    }

    fn add_record(&self, host: Host, name: &str) {
        let (cloud, zone) = (&self.stage.cloud, host.zone());
        let listed = cloud.values(zone, name, "A");
        let new = (0..=u8::MAX).map(elsewhere).find(|ip| !listed.contains(&ip.to_string()));
        if let Some(ip) = new.filter(|_| self.has_zone(host)) {
            self.by_hand(|| _ = cloud.record(zone, "A", name, &ip.to_string(), SLOW));
        }
    }

    /// The record of an address with this number, among all possible names.
    fn record(&self, which: u8) -> Option<(&'static str, Record)> {
        let zones = Host::ALL.map(Host::zone);
        let all = zones.into_iter().flat_map(|zone| {
            let records = self.stage.cloud.records(zone);
            records.into_iter().filter(is_of_names).map(move |record| (zone, record))
        });
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| all[usize::from(which) % all.len()].clone())
    }

    fn edit_record(&self, which: u8, edit: impl FnOnce(&mut Record)) {
        if let Some((zone, record)) = self.record(which) {
            self.by_hand(|| _ = self.stage.cloud.human_edits_record(zone, record.id, edit));
        }
    }
}

fn is_of_names(record: &Record) -> bool {
    let lists = record.kind == "A" || record.kind == "AAAA" && record.data != SOMEBODYS;
    lists && (0..LABELS).any(|number| label(number) == record.name)
}

/// An address of no node or pool.
fn elsewhere(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 1, number)
}
