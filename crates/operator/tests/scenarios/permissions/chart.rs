//! The chart's objects, rendered by helm.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rights::{Right, rights_in};
use crate::arena::Arena;
use crate::helm::{RELEASE_NAMESPACE, rendered};
use crate::replica::Replica;

/// The user that the chart's account is.
pub const USER: &str = "system:serviceaccount:pontoon-system:pontoon";

/// The objects of a release.
pub struct Chart {
    pub objects: Vec<Value>,
}

impl Chart {
    /// The chart for these controllers, all if there are none, with further values and without definitions;
    /// `None` without helm.
    pub fn of(controllers: &[&str], values: &[&str]) -> Option<Self> {
        let list = format!("controllers={{{}}}", controllers.join(","));
        let chosen = (!controllers.is_empty()).then_some(&*list);
        let values = ["crds.enabled=false"].into_iter().chain(values.iter().copied()).chain(chosen);
        let args: Vec<_> = values.flat_map(|value| ["--set", value]).collect();
        let objects = rendered(&args)?.into_iter().filter(Value::is_object).collect();
        Some(Self { objects })
    }

    /// All rights of its roles.
    pub fn rights(&self) -> BTreeSet<Right> {
        rights_in(&self.objects)
    }

    /// Applies the objects, in the namespace of the release, as far as the API server knows their kinds.
    pub fn apply(&self, arena: &Arena) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RELEASE_NAMESPACE},
        });
        let all = [&namespace].into_iter().chain(&self.objects).map(Value::to_string);
        let file = arena.folder().join("chart.yaml");
        std::fs::write(&file, all.collect::<Vec<_>>().join("\n---\n")).unwrap();
        let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
        assert!(applied.status.success(), "{applied:?}");
    }

    /// Starts the container of the Deployment, with the token of its account, and further flags.
    pub async fn start(&self, arena: &Arena, name: &str, extra: &[&str]) -> Replica {
        let account = arena.plane().kubeconfig_for(RELEASE_NAMESPACE, "pontoon").await.unwrap();
        let deployment = self.objects.iter().find(|one| one["kind"] == "Deployment").unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let args: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
        let [run, flags @ ..] = &args[..] else { panic!("no arguments") };
        assert_eq!(run, "run");
        let own = format!("POD_NAMESPACE={RELEASE_NAMESPACE}");
        let base = [&*own, "--kubeconfig", account.to_str().unwrap()];
        let all =
            base.into_iter().chain(flags.iter().map(String::as_str)).chain(extra.iter().copied());
        Replica::start(arena, name, &all.collect::<Vec<_>>())
    }
}
