//! A management cluster is an ordinary place: nothing is asked for that VIPs do not need.

use std::collections::BTreeSet;

use control_plane::Generation;
use k8s_openapi::jiff::Timestamp;

use super::management::{LOGGED, Operator, USER};
use super::on_both_generations;
use super::stage::Stage;

async fn nothing_is_read_that_vips_do_not_need(on: Generation) {
    let Some(mut stage) = Stage::alone(on, &["--leader-elect=false"]).await else { return };
    let started = Timestamp::now();
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let Operator::Own(_, operator) = &mut stage.operator else { unreachable!() };
    let operator = operator.take().unwrap();
    let ready = operator.page("/readyz").await.unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let log = operator.log();
    let warnings = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
    let warnings: Vec<_> =
        warnings.filter(|line| !line.contains("leader election is off")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    // A watch is logged at its end.
    operator.terminate().await;
    tokio::time::sleep(LOGGED).await;

    let log = stage.management.plane.audit_log().unwrap();
    let ours = || log.iter().filter(|one| one.user == USER && one.completed > started);
    let refused: Vec<_> = ours().filter(|one| one.code >= 400 && one.code != 409).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let read = ours().filter(|one| ["list", "watch"].contains(&&*one.verb));
    let read: BTreeSet<_> = read.map(|one| one.resource.as_str()).collect();
    let needed = [
        "clusterclasses",
        "clusters",
        "customresourcedefinitions",
        "globalinclusterippools",
        "inclusterippools",
        "ipaddressclaims",
        "ipaddresses",
        "leases",
    ];
    assert_eq!(read, BTreeSet::from(needed));
}

on_both_generations! {
    nothing_is_read_that_vips_do_not_need,
}
