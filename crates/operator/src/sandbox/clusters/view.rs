//! Clusters and VIP pools in the words of `wait` and `status`.

use std::fmt::Write;

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use super::super::cluster::Cluster;
use super::super::scene::Scene;
use super::{NAMESPACE, called};
use crate::management::{CLAIM, CLUSTER, names};

impl Cluster {
    /// Number of Clusters and of VIP pools.
    pub async fn count_clusters(&self) -> Result<(usize, usize), String> {
        Ok((self.all_of(&CLUSTER).await?.len(), self.all_vip_pools().await?.len()))
    }

    /// The first commands for a user to try.
    pub async fn first_commands(&self) -> Result<Vec<String>, String> {
        let mut commands: Vec<_> =
            self.scene().first_commands().iter().map(|one| (*one).to_owned()).collect();
        if self.scene() == Scene::Management
            && let Some(first) = self.all_of(&CLUSTER).await?.first()
        {
            let place = match first.namespace() {
                Some(namespace) if namespace != NAMESPACE => format!(" -n {namespace}"),
                _ => String::new(),
            };
            commands.push(format!("kubectl delete cluster {}{place}", first.name_any()));
        }
        Ok(commands)
    }

    /// Clusters without their VIPs or with an outdated condition, and claims that are on their way.
    pub async fn unready_clusters(&self) -> Result<Vec<String>, String> {
        let is_unready = |one: &&DynamicObject| {
            let said = condition(one);
            let known = said["observedGeneration"].as_i64();
            let is_current = known.is_none() || known == one.metadata.generation;
            let settled = said["status"] == "True" && is_current && !is_deleting(one);
            !settled && one.data["spec"]["paused"] != true
        };
        let mut all: Vec<_> =
            self.all_of(&CLUSTER).await?.iter().filter(is_unready).map(called).collect();
        let leaving = self.all_of(&CLAIM).await?;
        all.extend(leaving.iter().filter(|claim| is_deleting(claim)).map(called));
        Ok(all)
    }

    /// A line for each Cluster, then for each VIP pool.
    pub async fn tell_clusters(&self) -> Result<String, String> {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for one in self.all_of(&CLUSTER).await? {
            let phase = one.data["status"]["phase"].as_str().unwrap_or("new");
            let message = condition(&one)["message"].as_str().unwrap_or("not looked at yet");
            let _ = writeln!(text, "{:<22} {phase:<12} {message}", called(&one));
        }
        for (_, pool) in self.all_vip_pools().await? {
            let count = |field: &str| pool.data["status"]["ipAddresses"][field].as_i64();
            let (used, total) = (count("used").unwrap_or(0), count("total").unwrap_or(0));
            let addresses = &pool.data["spec"]["addresses"];
            let listed: Vec<_> =
                addresses.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let used = format!("{used}/{total} used");
            let _ = writeln!(text, "{:<22} {used:<12} {}", called(&pool), listed.join(" "));
        }
        Ok(text.trim_end().to_owned())
    }
}

/// The condition that Pontoon writes.
fn condition(one: &DynamicObject) -> &Value {
    let all = one.data["status"]["conditions"].as_array();
    all.into_iter().flatten().find(|one| one["type"] == names::CONDITION).unwrap_or(&Value::Null)
}

fn is_deleting(one: &DynamicObject) -> bool {
    one.metadata.deletion_timestamp.is_some()
}
