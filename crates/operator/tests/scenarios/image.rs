//! The image of `image/build`, unpacked, and the operator run out of it as in a pod.
//!
//! `PONTOON_IMAGE` names the image's folder; `./test` builds one. Without an image the tests are
//! skipped, on CI as a failure.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use control_plane::ControlPlane;
use fakecloud::Access;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::arena::{Arena, On, eventually};
use crate::installing::{FLIPOP, root};
use crate::replica::Replica;

/// Where the kubelet puts the files of the account.
const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";

/// A host that only `/etc/hosts` knows.
const CLOUD: &str = "clouds.example";

/// An unpacked image.
struct Image {
    /// With the root file system in `root`.
    folder: TempDir,
    settings: Value,
}

impl Image {
    fn unpack() -> Option<Self> {
        let Ok(layout) = std::env::var("PONTOON_IMAGE") else {
            skip("PONTOON_IMAGE names no folder of image/build");
            return None;
        };
        if !can_enter() {
            skip("neither root nor user namespaces");
            return None;
        }
        let layout = Path::new(&layout);
        let blob =
            |digest: &Value| layout.join("blobs").join(digest.as_str().unwrap().replace(':', "/"));
        let index = read(&layout.join("index.json"));
        let manifest = read(&blob(&index["manifests"][0]["digest"]));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
        for layer in manifest["layers"].as_array().unwrap() {
            let mut tar = Command::new("tar");
            tar.arg("-xpzf").arg(blob(&layer["digest"])).arg("-C").arg(&root);
            assert!(tar.status().unwrap().success(), "{tar:?}");
        }
        Some(Self { folder, settings: read(&blob(&manifest["config"]["digest"]))["config"].take() })
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// A command that starts the image's program as the image's user, without variables. Without
    /// root that user cannot be had: the program runs as nobody, in a user namespace.
    fn command(&self) -> Command {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut chroot = Command::new("chroot");
            let user = self.settings["User"].as_str().unwrap();
            chroot.args(["--groups=", &format!("--userspec={user}")]).arg(self.root());
            chroot
        } else {
            let mut unshare = Command::new("unshare");
            unshare.arg("--user").arg(format!("--root={}", self.root().display()));
            unshare
        };
        let program = self.settings["Entrypoint"].as_array().unwrap();
        command.args(program.iter().map(|word| word.as_str().unwrap()));
        // For the command itself: `chroot` is not in the path of every user.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    fn says(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Writes a file as the kubelet does when the container starts.
    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The files of a pod with this account's kubeconfig, and the variables about its API server.
    fn join_cluster(&self, kubeconfig: &Path) -> [(&'static str, String); 2] {
        let config = read(kubeconfig);
        let cluster = &config["clusters"][0]["cluster"];
        let certificate = cluster["certificate-authority"].as_str().unwrap();
        self.put(&format!("{ACCOUNT}/ca.crt"), std::fs::read(certificate).unwrap());
        let token = config["users"][0]["user"]["token"].as_str().unwrap();
        self.put(&format!("{ACCOUNT}/token"), token);
        self.put(&format!("{ACCOUNT}/namespace"), "flipop");
        let server = cluster["server"].as_str().unwrap().strip_prefix("https://").unwrap();
        let (host, port) = server.split_once(':').unwrap();
        [("KUBERNETES_SERVICE_HOST", host.into()), ("KUBERNETES_SERVICE_PORT", port.into())]
    }
}

fn read(file: &Path) -> Value {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&text).unwrap()
}

/// Whether [`Image::command`] can work here.
fn can_enter() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--root=/", "/bin/true"]);
    rustix::process::geteuid().is_root() || unshare.status().is_ok_and(|status| status.success())
}

/// Every file below a folder, without the folder's own path.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(one) = folders.pop() {
        for entry in one.read_dir().unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found
}

/// Reports a skip to standard error directly, because the test harness hides the output of passing
/// tests. On CI a skip is a failure.
fn skip(missing: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    let line = format!("SKIPPED: {missing}: no image was tried\n");
    drop(std::io::stderr().write_all(line.as_bytes()));
}

#[test]
fn the_image_holds_the_operator_its_libraries_and_certificates_and_nothing_else() {
    let Some(image) = Image::unpack() else { return };
    let is_library = |file: &str| file.starts_with("lib") && file.contains(".so.");
    let mut others = files(&image.root());
    others.retain(|file| !is_library(file));
    let expected = ["etc/nsswitch.conf", "etc/ssl/certs/ca-certificates.crt", "pontoon"];
    assert_eq!(others.iter().collect::<Vec<_>>(), expected, "no shell, no package manager");
    for file in files(&image.root()) {
        let mode = image.root().join(&file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7022, 0, "{file}: {mode:o}");
    }
    let certificates = std::fs::read_to_string(image.root().join(expected[1])).unwrap();
    assert!(certificates.matches("BEGIN CERTIFICATE").count() > 50);
}

#[test]
fn the_image_runs_as_the_pods_user_and_names_its_program_port_and_version() {
    let Some(image) = Image::unpack() else { return };
    let pod = FLIPOP.one("Deployment")["spec"]["template"]["spec"]["securityContext"].take();
    let user = format!("{}:{}", pod["runAsUser"], pod["runAsGroup"]);
    assert_eq!(image.settings["User"], user, "by number, and not root");
    let port = format!("{}/tcp", FLIPOP.container()["ports"][0]["containerPort"]);
    assert_eq!(image.settings["ExposedPorts"], json!({port: {}}));
    assert_eq!(image.settings["Entrypoint"], json!(["/pontoon"]));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(image.settings["Labels"]["org.opencontainers.image.version"], version);
    let said = image.says(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&said.stdout), format!("pontoon {version}\n"), "{said:?}");
}

#[test]
fn the_image_has_no_sandbox() {
    let Some(image) = Image::unpack() else { return };
    let said = image.says(&["sandbox"]);
    let error = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert!(error.contains("unrecognized subcommand 'sandbox'"), "{error}");
    let help = image.says(&["--help"]);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("sandbox"), "{help:?}");
}

/// In a pod: the account's files, no kubeconfig, the variables of the manifest, the image's user, and a
/// root that this user cannot write. The provider has a name, which the image's C library looks up.
#[tokio::test]
async fn the_operator_out_of_the_image_gives_a_pool_its_address() {
    let Some(image) = Image::unpack() else { return };
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let account = account(arena.plane()).await;
    arena.serving_node("a", 1).await;
    arena.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;

    let mut command = image.command();
    command.args(FLIPOP.arguments()).envs(image.join_cluster(&account));
    image.put("etc/hosts", format!("127.0.0.1 {CLOUD}\n"));
    for variable in FLIPOP.environment(&arena, "pontoon-7d4b9").await {
        let (name, value) = variable.split_once('=').unwrap();
        command.env(name, value);
    }
    let url = arena.cloud_url().replace("127.0.0.1", CLOUD);
    let access =
        Access { url: &url, secret: "canary-token", project: None, user_agent: Some("image") };
    command.envs(fakecloud::environment(&access));
    let before = files(&image.root());
    let replica = Replica::by(command, "image", arena.folder());

    arena.marked("a", Some("198.51.100.1")).await;
    arena.ready("ingress").await;
    eventually("the pod is ready", || async {
        let page = replica.page("/readyz").await.unwrap_or_default();
        if page.starts_with("HTTP/1.1 200 ") { Ok(()) } else { Err(page) }
    })
    .await;
    runs_inside(&image, replica.id());
    replica.terminate().await;
    assert_eq!(files(&image.root()), before, "nothing is written");
}

/// Asserts where and as whom a process runs.
fn runs_inside(image: &Image, process: u32) {
    let process = PathBuf::from(format!("/proc/{process}"));
    assert_eq!(process.join("exe").read_link().unwrap(), image.root().join("pontoon"));
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    if rustix::process::geteuid().is_root() {
        let (user, group) = image.settings["User"].as_str().unwrap().split_once(':').unwrap();
        assert_eq!(field("Uid:"), [user; 4]);
        assert_eq!(field("Gid:"), [group; 4]);
    }
    assert_eq!(field("CapEff:"), ["0000000000000000"], "no capability");
}

/// The kubeconfig of the shipped account.
async fn account(plane: &ControlPlane) -> PathBuf {
    let file = root().join("deploy/compat/flipop/rbac.yaml");
    let applied = plane.kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    plane.kubeconfig_for("flipop", "flipop").await.unwrap()
}

#[test]
fn equal_inputs_make_an_equal_image() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| {
        let output = folder.path().join(name);
        let mut build = Command::new(root().join("image/build"));
        build.args(["--binary", "/bin/true", "--output"]).arg(&output);
        let done = build.env("SOURCE_DATE_EPOCH", "1700000000").output();
        let done = done.ok().filter(|done| done.status.success());
        done.map(|_| (read(&output.join("index.json")), files(&output)))
    };
    let first = made("first");
    if first.is_none() {
        skip("image/build does not work here");
    }
    assert_eq!(first, made("second"));
}
