//! Calls to DNS hosts: translates core's types to the providers' and back.

use pontoon_core::action::{Done, Failure, RecordAction};
use pontoon_core::model::{Family, Record, RecordChange, RecordRequest, Site, Text};
use pontoon_providers as providers;
use pontoon_providers::layers::HeldBack;
use pontoon_providers::{Changed, RecordKind, RecordProvider, WantedRecord};

use super::cloud::failure;

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
            let change = wanted(change, cluster, host.capabilities().longest_mark);
            host.change(&name, kind(*family), &change).await.map(changed)
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
/// the `longest` note that the host stores, in characters, is cut off.
fn mark(object: &str, cluster: Option<&str>, longest: usize) -> String {
    let cluster = cluster.map(|cluster| format!("{cluster} ")).unwrap_or_default();
    format!("pontoon: {cluster}{object}").chars().take(longest).collect()
}

/// The change in the host's terms. Records carry no note if the host stores none.
fn wanted(
    change: &RecordChange,
    cluster: Option<&str>,
    longest_mark: Option<usize>,
) -> providers::RecordChange {
    let RecordChange { ttl, mark: object, create, update, delete } = change;
    let mark =
        object.as_ref().zip(longest_mark).map(|(object, longest)| mark(object, cluster, longest));
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
    fn a_mark_names_the_cluster_first_and_fits_into_the_hosts_notes() {
        let uid = "6c1f5f5e-3a52-4f0a-9d0e-2f1c3b4a5d6e";
        assert_eq!(
            mark("flipop/ingress FloatingIPPool", Some(uid), 100),
            format!("pontoon: {uid} flipop/ingress FloatingIPPool")
        );
        assert_eq!(
            mark("flipop/ingress FloatingIPPool", None, 100),
            "pontoon: flipop/ingress FloatingIPPool"
        );
        let long = format!("{}/{} FloatingIPPool", "n".repeat(63), "p".repeat(253));
        let whole = format!("pontoon: {uid} {long}");
        for longest in [100, 500] {
            let cut = mark(&long, Some(uid), longest);
            assert_eq!(cut.len(), longest.min(whole.len()));
            assert!(whole.starts_with(&cut), "{cut}");
        }
    }

    #[test]
    fn a_host_that_stores_no_notes_is_sent_none() {
        let change = RecordChange {
            ttl: 60,
            mark: Some("flipop/ingress FloatingIPPool".into()),
            create: vec!["192.0.2.1".parse().unwrap()],
            ..RecordChange::default()
        };
        let sent = |longest| wanted(&change, None, longest).create.remove(0).mark;
        assert_eq!(sent(None), None);
        assert_eq!(sent(Some(100)).as_deref(), Some("pontoon: flipop/ingress FloatingIPPool"));
        assert_eq!(sent(Some(15)).as_deref(), Some("pontoon: flipop"));
    }
}
