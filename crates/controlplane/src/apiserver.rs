//! kube-apiserver: input files, flags, and the check for readiness.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Config};

use crate::Error;
use crate::component::Component;
use crate::etcd;
use crate::kubeconfig;
use crate::leash::Leash;
use crate::port::on_free_port;
use crate::ready::{LIMIT, until_ready};

/// Signs and checks service account tokens. The private key is public on purpose: the key guards
/// only a loopback server with invented data, for the length of one test, and a fresh key per plane
/// would need a key generator. Made with `openssl ecparam -name prime256v1 -genkey`.
const SERVICE_ACCOUNT_KEY: &str = "-----BEGIN EC PRIVATE KEY-----
MHcCAQEEILz5c5n4/W3UPZ8mUig9HH1yv2bCWBCKavDbL7x91mTRoAoGCCqGSM49
AwEHoUQDQgAEPYWEDZcqCoqsDRMhaw2AQdBd2H5QEhZ9dzGefpOUZvkfqPfWFjFi
hdXngzr1Q0L8lMtQfAr0bPLKC9YJoToUaw==
-----END EC PRIVATE KEY-----
";

/// How much of each request the audit log holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Audit {
    /// User, request and status code.
    Metadata,
    /// The bodies of requests and answers too. Not for loads of thousands of objects: the log holds
    /// each list in full.
    Bodies,
}

impl Audit {
    /// The policy file: JSON is YAML.
    fn policy(self) -> String {
        let level = match self {
            Self::Metadata => "Metadata",
            Self::Bodies => "RequestResponse",
        };
        format!(
            r#"{{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived", "ResponseStarted"],
  "omitManagedFields": true,
  "rules": [{{"level": "{level}"}}]
}}"#
        )
    }
}

pub(crate) fn admin_kubeconfig(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}
pub(crate) fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}
pub(crate) fn certificate(folder: &Path) -> PathBuf {
    folder.join("certificates").join("apiserver.crt")
}
pub(crate) fn service_account_key(folder: &Path) -> PathBuf {
    folder.join("service-account.key")
}
fn audit_policy(folder: &Path) -> PathBuf {
    folder.join("audit-policy.json")
}
fn tokens(folder: &Path) -> PathBuf {
    folder.join("tokens.csv")
}

/// Starts the API server and returns the admin's client configuration once the server serves.
///
/// A server serves when `/readyz` answers and the `default` namespace exists. `/readyz` does not
/// wait for the namespace.
pub(crate) async fn start(
    assets: &Path,
    leash: &Leash,
    audit: Audit,
    ports: impl Iterator<Item = io::Result<u16>>,
) -> Result<(Component, Config), Error> {
    let token = random_token()?;
    write_inputs(leash.folder(), audit, &token)
        .map_err(Error::io("writing the API server's files"))?;
    on_free_port(ports, |port| start_on(port, assets, leash, &token)).await
}

async fn start_on(
    port: u16,
    assets: &Path,
    leash: &Leash,
    token: &str,
) -> Result<(Component, Config), Error> {
    let folder = leash.folder();
    kubeconfig::write(&admin_kubeconfig(folder), folder, port, "admin", token)?;
    let mut component = Component::start("kube-apiserver", assets, leash, &flags(folder, port))?;
    let config = until_ready(&mut component, LIMIT, || serves(folder)).await?;
    Ok((component, config))
}

/// The admin's client configuration, once the server accepts requests with it.
async fn serves(folder: &Path) -> Result<Config, Error> {
    let config = kubeconfig::read(&admin_kubeconfig(folder)).await?;
    answers(config.clone()).await?;
    Ok(config)
}

async fn answers(config: Config) -> Result<(), Error> {
    let client = Client::try_from(config)?;
    let readyz = Request::get("/readyz").body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request_text(readyz).await?;
    Api::<Namespace>::all(client).get("default").await?;
    Ok(())
}

fn write_inputs(folder: &Path, audit: Audit, token: &str) -> io::Result<()> {
    fs::write(service_account_key(folder), SERVICE_ACCOUNT_KEY)?;
    fs::write(audit_policy(folder), audit.policy())?;
    fs::write(tokens(folder), format!("{token},admin,admin,system:masters\n"))
}

/// A random token, so that another plane on a recycled port refuses our requests.
fn random_token() -> Result<String, Error> {
    use std::io::Read;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(Error::io("reading /dev/urandom"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

fn flags(folder: &Path, port: u16) -> Vec<String> {
    let file = |flag: &str, path: PathBuf| format!("--{flag}={}", path.display());
    let mut flags: Vec<String> = FIXED_FLAGS.iter().map(ToString::to_string).collect();
    flags.extend([
        format!("--secure-port={port}"),
        format!("--etcd-servers=unix://{}", etcd::socket(folder).display()),
        file("cert-dir", folder.join("certificates")),
        file("token-auth-file", tokens(folder)),
        file("service-account-key-file", service_account_key(folder)),
        file("service-account-signing-key-file", service_account_key(folder)),
        file("audit-policy-file", audit_policy(folder)),
        file("audit-log-path", audit_log(folder)),
    ]);
    flags
}

const FIXED_FLAGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    // Without these flags the server looks for an outer network interface, absent in some
    // sandboxes, and publishes the address as endpoints, where loopback is invalid.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.0.0.0/16",
    // The setting of real clusters. Without the flag the server refuses host-network and privileged
    // pods.
    "--allow-privileged=true",
    // `ServiceAccount` makes pods wait for service accounts that no controller creates here;
    // `TaintNodesByCondition` taints each new node until a controller finds the node ready.
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    // In megabytes. `audit::read` expects a single file, so the log must not rotate.
    "--audit-log-maxsize=4096",
    // Benches load thousands of objects at once.
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
    "--enable-priority-and-fairness=false",
];
