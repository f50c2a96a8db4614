//! Waiting for operations.

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Gcp;
use super::client::{Progress, Started};
use super::place::Place;
use crate::error::{ErrorKind, Result};
use crate::layers::Priority;

/// An operation that is waited for within a call takes 2 to 10 seconds in practice. The caller
/// decides about one that takes longer, with fresh observations.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first wait between two reads. Each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(4);

/// What shows that an operation is over, for a credential that may not read operations.
#[derive(Debug)]
pub(super) enum Sign<'a> {
    /// The machine's interface has no access config with this name and address any more.
    Removed { place: &'a Place, nic: &'a str, name: &'a str, ip: Option<IpAddr> },
    /// The project has the address.
    Made { project: &'a str, region: &'a str, name: &'a str },
    /// The project has the address no more.
    Released { project: &'a str, region: &'a str, name: &'a str },
}

impl Gcp {
    /// Waits for the end of an operation by reading it. True if it ended well, false if it did not
    /// end in time, or if the rate limit allows no more reads.
    ///
    /// # Errors
    /// The operation ended without an effect.
    pub(super) async fn finish(
        &self,
        started: &Started,
        sign: &Sign<'_>,
        priority: Priority,
    ) -> Result<bool> {
        match &started.progress {
            Progress::Done => return Ok(true),
            Progress::Failed(error) => return Err(error.clone()),
            Progress::Running => {}
        }
        let end = Instant::now() + PATIENCE;
        let (mut wait, mut readable) = (FIRST, true);
        while Instant::now() + wait <= end {
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST);
            if readable {
                match self.client.operation(&started.id, priority).await {
                    Ok(Progress::Done) => return Ok(true),
                    Ok(Progress::Failed(error)) => return Err(error),
                    Ok(Progress::Running) => continue,
                    Err(error) if error.kind == ErrorKind::Forbidden => readable = false,
                    Err(error) if is_passing(error.kind) => continue,
                    Err(_) => return Ok(false),
                }
            }
            match self.shows(sign, priority).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if is_passing(error.kind) => {}
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    pub(super) async fn shows(&self, sign: &Sign<'_>, priority: Priority) -> Result<bool> {
        match *sign {
            Sign::Removed { place, nic, name, ip } => {
                let read = match self.client.instance(place, priority).await {
                    Err(error) if error.kind == ErrorKind::NotFound => return Ok(true),
                    read => read?,
                };
                let mut nics = read.network_interfaces.iter().filter(|one| one.name == nic);
                Ok(!nics.any(|nic| {
                    let mut there = nic.access_configs.iter();
                    there.any(|one| one.name == name && one.nat_ip.map(IpAddr::from) == ip)
                }))
            }
            Sign::Made { project, region, name } => {
                Ok(self.client.address(project, region, name, priority).await?.is_some())
            }
            Sign::Released { project, region, name } => {
                match self.client.address(project, region, name, priority).await {
                    Err(error) if error.kind == ErrorKind::NotFound => Ok(true),
                    read => read.map(|_| false),
                }
            }
        }
    }
}

/// Whether the next read may well succeed. An operation may be unknown for a moment.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::Unavailable | ErrorKind::NoAnswer | ErrorKind::NotSent
    )
}
