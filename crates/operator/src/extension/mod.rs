//! The runtime extension of Cluster API: an HTTPS server with the hooks that Cluster API calls.
//!
//! Off by default. Every replica answers, whether or not it leads. Answers follow from the request, and
//! from what the watches have seen ([`Board`]); no answer changes anything. The server has a thread of
//! its own, so that neither a large request nor a handshake delays the main loop.

pub mod args;
pub mod board;
pub mod certificate;
mod gate;
mod hooks;
mod message;
mod patches;
pub mod server;
#[cfg(test)]
mod tests;

use std::net::TcpListener;
use std::sync::Arc;

pub use args::ExtensionArgs;
pub use board::Board;
use certificate::Certificate;
use server::Limits;

use pontoon_core::model::Subject;

use crate::run::{Mode, Options};
use crate::serve::listen;

/// What the hooks answer from.
#[derive(Debug)]
pub struct Extension {
    /// The beginning of the handlers' names.
    pub name: String,
    /// Why no Cluster is held back, if so.
    pub resting: Option<&'static str>,
    /// The namespace whose Clusters get VIPs; by default all namespaces.
    pub namespace: Option<String>,
    /// What the watches have seen.
    pub board: Board,
}

/// Why a replica holds no Cluster back, if so: nothing comes from a replica that gives no VIPs.
fn resting(gives_vips: bool, mode: Mode) -> Option<&'static str> {
    match mode {
        _ if !gives_vips => Some("VIPs are switched off by --controllers or --enable-reconciler"),
        Mode::Observe => Some("Pontoon only observes"),
        Mode::Active => None,
    }
}

/// Starts the server, if the user wants one. Returns the board that the watches have to fill.
///
/// # Errors
/// In words, if the port cannot be listened on. A certificate that is missing or wrong is no error: it may
/// come later, and VIPs need none.
pub async fn start(args: &ExtensionArgs, options: &Options) -> Result<Board, String> {
    if !args.enable_runtime_extension {
        return Ok(Board::default());
    }
    let address = format!(":{}", args.runtime_extension_port);
    let listener = listen(&address).await?.into_std().map_err(|error| error.to_string())?;
    let board = Board::open();
    let name = args.runtime_extension_name.clone();
    let resting = resting(options.controllers.serve(Subject::Vips), options.mode);
    let namespace = options.vips.namespace.clone();
    let extension = Extension { name, resting, namespace, board: board.clone() };
    let certificate = Certificate::in_folder(&args.runtime_extension_cert_dir);
    tracing::info!(address, name = extension.name, "serving the runtime extension");
    std::thread::Builder::new()
        .name("extension".to_owned())
        .spawn(move || on_its_own_thread(listener, extension, certificate))
        .map_err(|error| format!("cannot start the runtime extension: {error}"))?;
    Ok(board)
}

fn on_its_own_thread(listener: TcpListener, extension: Extension, certificate: Certificate) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (extension, certificate) = (Arc::new(extension), Arc::new(certificate));
            server::serve(listener, extension, certificate, Limits::default()).await;
            Ok(())
        })
    });
    if let Err(error) = served {
        tracing::error!(%error, "the runtime extension cannot be served");
    }
}
