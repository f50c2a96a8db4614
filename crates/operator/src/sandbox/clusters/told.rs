//! Tells what becomes of Clusters and of their addresses, beside what the operator tells.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};
use pontoon_core::model::Kind;

use super::super::objects::watched;
use super::super::story::Story;
use super::called;
use super::commands::is_filler;
use crate::api::objects_within;
use crate::management::{ADDRESS, CLUSTER};

/// Tells until the API server ends.
pub async fn follow(story: Story, client: Client) {
    let of =
        |kind: &Kind| objects_within::<DynamicObject>(client.clone(), kind, kind.version, None);
    let mut clusters = Box::pin(watched(of(&CLUSTER)));
    let mut addresses = Box::pin(watched(of(&ADDRESS)));
    // UIDs of Clusters that are told to be going.
    let mut going = BTreeSet::new();
    loop {
        tokio::select! {
            Some(cluster) = clusters.next() => match cluster {
                Ok(cluster) => {
                    let is_going = cluster.metadata.deletion_timestamp.is_some();
                    if is_going && going.insert(cluster.uid()) {
                        story.tell_now(&format!("{} is going, its machines first", called(&cluster)));
                    }
                }
                Err(cluster) => {
                    going.remove(&cluster.uid());
                    story.tell_now(&format!("{} is gone", called(&cluster)));
                }
            },
            Some(address) = addresses.next() => match address {
                Err(address) if !is_filler(&address) => {
                    let ip = address.data["spec"]["address"].as_str().unwrap_or_default();
                    story.tell_now(&format!("{ip} is free again ({})", called(&address)));
                }
                _ => {}
            },
            else => return,
        }
    }
}
