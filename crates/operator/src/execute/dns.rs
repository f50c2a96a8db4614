//! Calls to DNS hosts: translates core's types to the providers' and back.

use pontoon_core::action::{Done, Failure, RecordAction};
use pontoon_core::model::{Family, Record, RecordChange, RecordRequest, Site, Text};
use pontoon_providers as providers;
use pontoon_providers::layers::HeldBack;
use pontoon_providers::{Changed, RecordKind, RecordProvider, WantedRecord};

use super::cloud::failure;

/// Length of a note that every host stores in full, in characters.
const LONGEST_MARK: usize = 100;

/// Makes a call to the host. Written records carry a mark with the identity of the `cluster`, if
/// known.
pub(super) async fn call(
    host: &dyn RecordProvider,
    call: &RecordAction,
    cluster: Option<&str>,
) -> Result<Done, Failure> {
    let result = match call {
        RecordAction::Read { request, family, .. } => read(host, request, *family).await,
        RecordAction::Change { site, family, change, .. } => {
            let name =
                providers::RecordName { zone: site.zone.to_string(), name: site.name.to_string() };
            host.change(&name, kind(*family), &wanted(change, cluster)).await.map(changed)
        }
    };
    result.map_err(failure)
}

/// Reads the records of a name. The zone is located each time, because a zone may have been deleted
/// and recreated; the lookup is free once the zone is known.
async fn read(
    host: &dyn RecordProvider,
    request: &RecordRequest,
    family: Family,
) -> providers::Result<Done> {
    let name = host.locate(&request.zone, &request.name).await?;
    let listed = host.list(&name, kind(family)).await?;
    let site = Site {
        account: request.account.clone(),
        zone: name.zone.as_str().into(),
        name: name.name.as_str().into(),
    };
    Ok(Done::RecordsListed { site, records: listed.into_iter().map(record).collect() })
}

fn changed(changed: Changed) -> Done {
    let Changed { written, deleted, rest } = changed;
    let written = written.into_iter().map(record).collect();
    match rest {
        None => Done::RecordsChanged(written),
        Some(HeldBack { retry_after: wait, pacing }) => {
            let deleted = deleted.iter().map(|id| id.0.as_str().into()).collect();
            Done::RecordsChangedInPart { written, deleted, wait, pacing }
        }
    }
}

fn kind(family: Family) -> RecordKind {
    match family {
        Family::V4 => RecordKind::A,
        Family::V6 => RecordKind::Aaaa,
    }
}

fn record(record: providers::Record) -> Record {
    let providers::Record { id, value, ttl, mark: _, proxied } = record;
    Record { id: id.0.as_str().into(), value, ttl, proxied }
}

/// The note on a record for a person at the DNS host: cluster, namespace, name, kind. Text beyond
/// [`LONGEST_MARK`] is cut off.
fn mark(object: &str, cluster: Option<&str>) -> String {
    let cluster = cluster.map(|cluster| format!("{cluster} ")).unwrap_or_default();
    format!("pontoon: {cluster}{object}").chars().take(LONGEST_MARK).collect()
}

fn wanted(change: &RecordChange, cluster: Option<&str>) -> providers::RecordChange {
    let RecordChange { ttl, mark: object, create, update, delete } = change;
    let mark = object.as_ref().map(|object| mark(object, cluster));
    let one =
        |value: &std::net::IpAddr| WantedRecord { value: *value, ttl: *ttl, mark: mark.clone() };
    let id = |id: &Text| providers::RecordId(id.to_string());
    providers::RecordChange {
        create: create.iter().map(one).collect(),
        update: update.iter().map(|(name, value)| (id(name), one(value))).collect(),
        delete: delete.iter().map(id).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_the_cluster_first_and_fits_into_every_hosts_notes() {
        let uid = "6c1f5f5e-3a52-4f0a-9d0e-2f1c3b4a5d6e";
        assert_eq!(
            mark("flipop/ingress FloatingIPPool", Some(uid)),
            format!("pontoon: {uid} flipop/ingress FloatingIPPool")
        );
        assert_eq!(
            mark("flipop/ingress FloatingIPPool", None),
            "pontoon: flipop/ingress FloatingIPPool"
        );
        let long = format!("{}/{} FloatingIPPool", "n".repeat(63), "p".repeat(253));
        let cut = mark(&long, Some(uid));
        assert_eq!(cut.chars().count(), LONGEST_MARK);
        assert!(cut.contains(uid), "{cut}");
    }
}
