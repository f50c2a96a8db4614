//! The contract of every provider, over the emulated cloud: one suite for addresses, one for
//! records, and properties of the clients of DNS hosts.
//!
//! A vendor's tests implement [`Bench`] and name the suites; variables, machines and the meaning of
//! calls come from the vendor's emulator. Clauses check behaviour only, never URLs or bodies.

pub(crate) mod addresses;
pub(crate) mod properties;
pub(crate) mod records;
pub(crate) mod script;

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use fakecloud::{Access, FakeCloud};
use http::Request;
use tower::{ServiceExt, service_fn};

use crate::effect::Effect;
use crate::error::{ErrorKind, Result};
use crate::transport::{Transport, TransportError};
use crate::vendor::{Account, Clock, Settings, Vendor};

/// A provider under test.
pub(crate) trait Bench: Sync {
    /// The provider's entry in the registry.
    fn vendor(&self) -> &'static Vendor;

    /// A region of the provider.
    fn region(&self) -> &'static str {
        "nyc3"
    }

    /// Whether answers tell how many requests are left.
    fn tells_budget(&self) -> bool {
        true
    }

    /// Whether a refusal by the rate limit tells how long to wait.
    fn tells_wait(&self) -> bool {
        true
    }

    /// Whether an address shows that an operation on it is under way.
    fn shows_busy(&self) -> bool {
        true
    }

    /// Whether the vendor has a document, with which recorded exchanges are compared.
    fn is_documented(&self) -> bool {
        true
    }

    /// The user's way to write the zone [`ZONE`].
    fn zone(&self, _: &FakeCloud) -> String {
        ZONE.to_owned()
    }

    /// The user's way to write a missing zone.
    fn no_zone(&self) -> &'static str {
        "example.net"
    }
}

/// The zone of the suites.
pub(crate) const ZONE: &str = "example.com";

/// The secret of the account. No output may contain the secret.
pub(crate) const SECRET: &str = "canary0123456789";

const TIMEOUT: Duration = Duration::from_secs(5);

/// A cloud that knows the account of the suites.
fn cloud(bench: &dyn Bench) -> FakeCloud {
    let cloud = FakeCloud::new();
    cloud.token(SECRET);
    if !bench.is_documented() {
        cloud.dump_on_drop(None);
    }
    cloud
}

/// Opens the account at an emulated cloud.
fn open(bench: &dyn Bench, cloud: &FakeCloud, transport: Transport) -> Account {
    let url = "http://127.0.0.1";
    let access = Access { url, secret: SECRET, project: None, user_agent: None };
    let variables = fakecloud::environment(&access);
    let variable =
        |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.clone());
    let cloud = cloud.clone();
    let clock = Clock::new(move || SystemTime::from(cloud.wall()));
    let settings = Settings { variable: &variable, timeout: TIMEOUT, clock };
    (bench.vendor().open)(&settings, transport).unwrap()
}

/// The emulator as a transport. A lost request or answer becomes `NoAnswer`. Every request must
/// state the effect that the emulator knows it to have.
pub(crate) fn transport(cloud: &FakeCloud) -> Transport {
    let service = cloud.service();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let service = service.clone();
        async move {
            let changes = fakecloud::asked(&request).purpose.changes();
            let stated = request.extensions().get::<Effect>();
            let true_one = if changes { Effect::Change } else { Effect::Read };
            assert_eq!(stated, Some(&true_one), "{} {}", request.method(), request.uri());
            let answer = service.oneshot(request).await;
            answer.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
        }
    }))
}

pub(crate) fn kind<T: Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind
}
