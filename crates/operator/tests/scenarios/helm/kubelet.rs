//! The kubelet's part: starts the container of the Deployment that the API server has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use serde_json::Value;

use super::{RELEASE_NAMESPACE, Stage};
use crate::installing::POD_UID;
use crate::replica::{Replica, Start};

impl Stage {
    /// Starts a pod of the Deployment: with its arguments, variables, volumes and account, and nothing
    /// more. The port of its pages is another one, because pods here share one address.
    pub async fn pod(&self, name: &str) -> Replica {
        let pod = self.pod_spec().await;
        let container = &pod["containers"][0];
        let mounted = self.mounted(name, &pod).await;
        let placed = |text: &str| {
            mounted.iter().fold(text.to_owned(), |text, (path, here)| text.replace(path, here))
        };
        let args: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
        let [run, flags @ ..] = &args[..] else { panic!("no arguments") };
        assert_eq!(run, "run");
        let mut given: Vec<_> = flags.iter().map(|flag| placed(flag)).collect();
        for variable in container["env"].as_array().unwrap() {
            let value = self.value(name, variable).await;
            given.push(format!("{}={}", variable["name"].as_str().unwrap(), placed(&value)));
        }
        let account = pod["serviceAccountName"].as_str().unwrap();
        let plane = self.arena.plane();
        let kubeconfig = plane.kubeconfig_for(RELEASE_NAMESPACE, account).await.unwrap();
        let extra: Vec<_> = given.iter().map(String::as_str).collect();
        let (folder, kubeconfig) = (self.arena.folder(), &*kubeconfig);
        Replica::spawn(Start { name, folder, kubeconfig, group: None, extra: &extra })
    }

    /// Brings the volumes of a pod up to date, as the kubelet does about once a minute.
    pub async fn refresh_volumes(&self, name: &str) {
        self.mounted(name, &self.pod_spec().await).await;
    }

    async fn pod_spec(&self) -> Value {
        let deployments: Api<Deployment> =
            Api::namespaced(self.arena.client.clone(), RELEASE_NAMESPACE);
        let deployment = deployments.get("pontoon").await.unwrap();
        serde_json::to_value(deployment.spec.unwrap().template.spec.unwrap()).unwrap()
    }

    /// The value of a variable; empty if an optional Secret is missing.
    async fn value(&self, pod: &str, variable: &Value) -> String {
        let from = &variable["valueFrom"];
        match from["fieldRef"]["fieldPath"].as_str() {
            Some("metadata.name") => return pod.to_owned(),
            Some("metadata.namespace") => return RELEASE_NAMESPACE.to_owned(),
            Some("metadata.uid") => return POD_UID.to_owned(),
            Some(other) => panic!("{other}: what is that?"),
            None => {}
        }
        let Some(reference) = from["secretKeyRef"].as_object() else {
            return variable["value"].as_str().unwrap().to_owned();
        };
        let data = self.secret(reference["name"].as_str().unwrap()).await;
        match data.get(reference["key"].as_str().unwrap()) {
            Some(value) => value.clone(),
            None if reference["optional"] == true => String::new(),
            None => panic!("{reference:?}: the pod would not start"),
        }
    }

    /// Writes the volumes of a pod; returns the mounted paths, each with its folder here.
    async fn mounted(&self, name: &str, pod: &Value) -> Vec<(String, String)> {
        let mounts = pod["containers"][0]["volumeMounts"].as_array().cloned().unwrap_or_default();
        let mut all = Vec::new();
        for mount in mounts {
            let volumes = pod["volumes"].as_array().unwrap();
            let volume = volumes.iter().find(|one| one["name"] == mount["name"]).unwrap();
            let folder: PathBuf =
                self.arena.folder().join(name).join(mount["name"].as_str().unwrap());
            std::fs::create_dir_all(&folder).unwrap();
            for (file, text) in self.files(volume).await {
                std::fs::write(folder.join(file), text).unwrap();
            }
            let path = mount["mountPath"].as_str().unwrap().to_owned();
            all.push((path, folder.to_str().unwrap().to_owned()));
        }
        all
    }

    async fn files(&self, volume: &Value) -> BTreeMap<String, String> {
        if let Some(secret) = volume["secret"]["secretName"].as_str() {
            let data = self.secret(secret).await;
            let Some(items) = volume["secret"]["items"].as_array() else { return data };
            let file = |item: &Value| {
                let [key, path] = ["key", "path"].map(|field| item[field].as_str().unwrap());
                Some((path.to_owned(), data.get(key)?.clone()))
            };
            return items.iter().filter_map(file).collect();
        }
        let name = volume["configMap"]["name"].as_str().unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(self.arena.client.clone(), RELEASE_NAMESPACE);
        maps.get(name).await.unwrap().data.unwrap_or_default()
    }

    /// The data of a Secret; nothing if it is missing.
    async fn secret(&self, name: &str) -> BTreeMap<String, String> {
        let secrets: Api<Secret> = Api::namespaced(self.arena.client.clone(), RELEASE_NAMESPACE);
        let data = secrets.get_opt(name).await.unwrap().and_then(|secret| secret.data);
        let text = |(key, ByteString(value))| (key, String::from_utf8(value).unwrap());
        data.unwrap_or_default().into_iter().map(text).collect()
    }
}
