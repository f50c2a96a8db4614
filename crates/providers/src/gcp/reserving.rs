//! Reserving and releasing.

use std::net::IpAddr;

use super::Gcp;
use super::client::Inserted;
use super::operations::Sign;
use super::place::{Place, is_name};
use super::wire::{Fact, MARK};
use crate::address::{CreateRequest, Created, Family};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;

/// The longest name that Google takes.
const LONGEST_NAME: usize = 63;

impl Gcp {
    /// Reserves an address with the mark as its name, so that a repetition finds the same one.
    pub(super) async fn reserve(&self, request: &CreateRequest) -> Result<Created> {
        let CreateRequest { family, region, machine, mark } = request;
        if *family == Family::V6 {
            return Err(rejected("IPv6 addresses are not supported"));
        }
        if !is_name(region) {
            return Err(rejected("the region is not the name of one"));
        }
        let machine = machine.as_ref().and_then(|machine| Place::of(machine).ok());
        let project = self.project_of(machine.as_ref())?;
        let name = match mark {
            Some(mark) => format!("{MARK}{mark}"),
            None => self.client.unused_name(region),
        };
        if !is_name(&name) || name.len() > LONGEST_NAME || name.ends_with('-') {
            return Err(rejected("the mark does not fit into the name of an address"));
        }
        if let Inserted::Started(started) = self.client.insert(&project, region, &name).await? {
            let sign = Sign::Made { project: &project, region, name: &name };
            if !self.finish(&started, &sign, Priority::Begun).await? {
                return Err(unanswered("the address is still being reserved"));
            }
        }
        match self.client.address(&project, region, &name, Priority::Begun).await {
            Ok(Some(found)) => Ok(Created { ip: found.address.ip, placement: None }),
            Ok(None) => Err(unanswered("the address is still being reserved")),
            // The address is there all the same, and is known by its mark.
            Err(error) => Err(unanswered(&error.message)),
        }
    }

    /// The project for a new address.
    fn project_of(&self, machine: Option<&Place>) -> Result<String> {
        if let (None, Some(place)) = (&self.project, machine) {
            return Ok(place.project.clone());
        }
        match &self.projects()?[..] {
            [project] => Ok(project.clone()),
            _ => Err(rejected("machines are in several projects: set GOOGLE_CLOUD_PROJECT")),
        }
    }

    /// Releases a free address. It is found by its IP, and deleted by its name.
    pub(super) async fn give_up(&self, ip: IpAddr) -> Result<()> {
        let Some(found) = self.find(ip, &mut { Priority::Housekeeping }).await? else {
            return Ok(());
        };
        if let Some(holder) = &found.address.holder {
            let error = rejected(&format!("{ip} is in use by {holder}"));
            return Err(Error { seen: Some(Box::new(found.address)), ..error });
        }
        let released = self.delete(&found.fact).await;
        released.map_err(|error| match error.kind {
            ErrorKind::Rejected | ErrorKind::Busy => {
                Error { seen: Some(Box::new(found.address)), ..error }
            }
            _ => error,
        })
    }

    async fn delete(&self, fact: &Fact) -> Result<()> {
        let started = match self.client.delete(fact).await {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
            started => started?,
        };
        let Fact { project, region, name, .. } = fact;
        let sign = Sign::Released { project, region, name };
        match self.finish(&started, &sign, Priority::Begun).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(unanswered("the address is still being released")),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn rejected(words: &str) -> Error {
    Error::new(ErrorKind::Rejected, words)
}

/// A change whose end was not seen.
fn unanswered(words: &str) -> Error {
    Error::new(ErrorKind::NoAnswer, words)
}
