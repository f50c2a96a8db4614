//! A management cluster is an ordinary place: nothing is asked for that VIPs do not need.

use std::collections::BTreeSet;

use control_plane::Generation;

use super::on_both_generations;
use super::stage::Stage;

async fn nothing_is_read_that_vips_do_not_need(on: Generation) {
    let Some(mut stage) = Stage::alone(on, &["--leader-elect=false"]).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let operator = stage.operator.own().take().unwrap();
    let ready = operator.page("/readyz").await.unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let log = operator.log();
    let warnings = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
    let warnings: Vec<_> =
        warnings.filter(|line| !line.contains("leader election is off")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    operator.terminate().await;

    let log = stage.management.requests_since(stage.operator.since()).await;
    let refused: Vec<_> =
        log.iter().filter(|one| (400..500).contains(&one.code) && one.code != 409).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let read = log.iter().filter(|one| ["list", "watch"].contains(&&*one.verb));
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
