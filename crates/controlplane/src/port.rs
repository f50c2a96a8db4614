//! Free ports on loopback. The programs cannot choose a port themselves, so another process may
//! take the port between our check and their bind.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::Error;

/// Number of ports to try.
const ATTEMPTS: usize = 5;

/// Ports that were free when checked, for [`on_free_port`].
pub(crate) fn free() -> impl Iterator<Item = io::Result<u16>> {
    std::iter::repeat_with(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(listener.local_addr()?.port())
    })
}

/// Runs `attempt` with successive ports while the error says that the port is taken.
pub(crate) async fn on_free_port<T, Outcome>(
    ports: impl Iterator<Item = io::Result<u16>>,
    attempt: impl Fn(u16) -> Outcome,
) -> Result<T, Error>
where
    Outcome: Future<Output = Result<T, Error>>,
{
    let none = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut failed = Error::io("finding a free port")(none);
    for port in ports.take(ATTEMPTS) {
        let port = port.map_err(Error::io("finding a free port"))?;
        match attempt(port).await {
            Err(error) if error.is_port_taken() => failed = error,
            outcome => return outcome,
        }
    }
    Err(failed)
}
