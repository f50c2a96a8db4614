//! The kinds of Cluster API and of its in-cluster IPAM provider, in the generations of the API.
//!
//! In: the folder that the workspace's `control-plane/ipam/build` makes. Out: definitions without
//! conversion webhooks, which no process of a plane would answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};

use crate::Error;
use crate::assets::{build, or_skipped};

/// The script that builds the provider, or finds it in its cache.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../control-plane/ipam/build");

/// A generation of Cluster API, with the IPAM provider that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// Cluster API 1.10: v1beta1 alone.
    V1Beta1,
    /// Cluster API 1.11 and later: v1beta2.
    V1Beta2,
}

impl Generation {
    /// The version of Clusters, claims and addresses.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::V1Beta1 => "v1beta1",
            Self::V1Beta2 => "v1beta2",
        }
    }

    /// The definitions, each in its stored version alone and without webhooks, for an API server without
    /// the IPAM provider. `None` as for
    /// [`ipam_provider`](crate::ControlPlane::ipam_provider).
    ///
    /// # Errors
    ///
    /// If a definition cannot be read, or with `CI=true` if there are none.
    pub async fn definitions(self) -> Result<Option<Vec<CustomResourceDefinition>>, Error> {
        let Some(folder) = folder(self).await? else { return Ok(None) };
        definitions(&folder.join("crds")).map(Some)
    }
}

/// The folder with the provider and the definitions of a generation, or `None` after a line on stderr
/// (see [`or_skipped`]). The first call on a machine builds them and takes minutes.
pub(crate) async fn folder(generation: Generation) -> Result<Option<PathBuf>, Error> {
    or_skipped(move || {
        let mut script = Command::new(BUILD);
        script.arg(generation.version());
        build(script)
    })
    .await
}

/// Creates the definitions of a folder, and returns once all are served.
pub(crate) async fn define(client: Client, folder: &Path) -> Result<(), Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let all = definitions(&folder.join("crds"))?;
    for definition in &all {
        api.create(&PostParams::default(), definition).await?;
    }
    for definition in &all {
        let name = definition.metadata.name.as_deref().unwrap_or_default();
        let established = await_condition(api.clone(), name, is_crd_established());
        established.await.map_err(|error| Error::Definition(name.to_owned(), error.to_string()))?;
    }
    Ok(())
}

fn definitions(folder: &Path) -> Result<Vec<CustomResourceDefinition>, Error> {
    let doing = || format!("reading {}", folder.display());
    let mut files = fs::read_dir(folder)
        .and_then(|files| files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(Error::io(doing()))?;
    files.sort();
    files.iter().map(|file| definition(file)).collect()
}

fn definition(file: &Path) -> Result<CustomResourceDefinition, Error> {
    let text =
        fs::read_to_string(file).map_err(Error::io(format!("reading {}", file.display())))?;
    let unreadable = |error: serde_saphyr::Error| {
        Error::Definition(file.display().to_string(), error.to_string())
    };
    let mut definition: CustomResourceDefinition =
        serde_saphyr::from_str(&text).map_err(unreadable)?;
    definition.spec.conversion = None;
    // Without conversion the server only relabels objects, so that another version would lose
    // fields.
    definition.spec.versions.retain(|version| version.storage);
    Ok(definition)
}
