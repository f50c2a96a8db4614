//! A real API server to play with: prints its kubeconfig, ends with Ctrl-C or the end of
//! standard input.

#![allow(clippy::print_stdout)]

use std::io::Read;

use control_plane::ControlPlane;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(plane) = ControlPlane::start().await? else { return Ok(()) };
    println!("export KUBECONFIG={}", plane.kubeconfig().display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
