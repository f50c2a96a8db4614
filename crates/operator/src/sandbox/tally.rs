//! Counts the effects of a command: on addresses at the provider, or on VIPs of Clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fakecloud::{FakeCloud, Mark, State};

use super::clusters::Vips;

/// Where effects are counted.
#[derive(Clone)]
enum Place {
    Cloud(FakeCloud),
    Vips(Vips),
}

/// Records every address that loses its machine, or its Cluster.
#[derive(Clone)]
pub struct Book {
    place: Place,
    dropped: Arc<Mutex<Vec<String>>>,
}

/// A position in the record of calls or writes.
#[derive(Clone, Copy)]
pub enum Position {
    Calls(Mark),
    Writes(usize),
}

impl Book {
    /// Starts recording what happens to addresses at the provider.
    pub fn open(cloud: &FakeCloud) -> Self {
        let book = Self { place: Place::Cloud(cloud.clone()), dropped: Arc::default() };
        let (notes, mut before) = (Arc::clone(&book.dropped), BTreeSet::new());
        cloud.observe(move |_, state| {
            let held = held(state).into_keys().collect::<BTreeSet<_>>();
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.extend(before.difference(&held).cloned());
            before = held;
        });
        book
    }

    /// Starts recording what happens to VIPs.
    pub fn of_vips(vips: Vips) -> Self {
        let book = Self { place: Place::Vips(vips.clone()), dropped: Arc::default() };
        let notes = Arc::clone(&book.dropped);
        vips.observe(move |freed| {
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(freed);
        });
        book
    }

    /// Starts a count.
    pub fn begin(&self) -> Tally {
        let drops = self.dropped.lock().unwrap_or_else(PoisonError::into_inner).len();
        Tally { book: self.clone(), since: self.position(), before: self.held(), drops }
    }

    fn held(&self) -> BTreeMap<String, String> {
        match &self.place {
            Place::Cloud(cloud) => cloud.look(held),
            Place::Vips(vips) => vips.held(),
        }
    }

    fn position(&self) -> Position {
        match &self.place {
            Place::Cloud(cloud) => Position::Calls(cloud.mark()),
            Place::Vips(vips) => Position::Writes(vips.writes.count()),
        }
    }
}

/// A count since a moment.
pub struct Tally {
    book: Book,
    since: Position,
    before: BTreeMap<String, String>,
    drops: usize,
}

/// The result of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Addresses on another machine now, or of another claim.
    pub moved: usize,
    /// Mutating calls to the provider, or writes of Clusters and claims.
    pub calls: usize,
    /// Addresses that were without a machine for a while, or that were freed.
    pub dropped: usize,
    /// Whether VIPs were counted.
    of_vips: bool,
}

impl Tally {
    /// The result so far.
    pub fn sum(&self) -> Sum {
        let now = self.book.held();
        let moved = |(name, place): &(&String, &String)| now.get(*name) != Some(*place);
        let dropped = self.book.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped: BTreeSet<_> = dropped.iter().skip(self.drops).collect();
        let (calls, of_vips) = match (&self.book.place, self.since) {
            (Place::Cloud(cloud), Position::Calls(mark)) => {
                (cloud.mutations_since(mark).len(), false)
            }
            (Place::Vips(vips), Position::Writes(before)) => (vips.writes.count() - before, true),
            _ => (0, false),
        };
        let moved = self.before.iter().filter(moved).count();
        Sum { moved, calls, dropped: dropped.len(), of_vips }
    }

    /// Whether the operator has read the provider since a position. VIPs have no provider to read.
    pub fn was_read_since(&self, position: Position) -> bool {
        match (&self.book.place, position) {
            (Place::Cloud(cloud), Position::Calls(mark)) => {
                cloud.log_since(mark).iter().any(|call| !call.mutates)
            }
            _ => true,
        }
    }

    /// The current position.
    pub fn mark(&self) -> Position {
        self.book.position()
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moved, calls, dropped, of_vips } = self;
        let plural = if *calls == 1 { "" } else { "s" };
        match of_vips {
            true => write!(f, "{moved} VIPs changed, {calls} write{plural}, {dropped} freed"),
            false => write!(f, "{moved} moved, {calls} call{plural}, {dropped} dropped"),
        }
    }
}

/// The machine of each address that is on one.
fn held(state: &State) -> BTreeMap<String, String> {
    let held =
        state.addresses().filter_map(|one| Some((one.ip.to_string(), one.holder?.to_string())));
    held.collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[tokio::test]
    async fn moves_and_drops_are_counted_from_the_beginning() {
        let cloud = FakeCloud::new();
        cloud.machine(1, "a", "nyc3").machine(2, "b", "nyc3");
        let ip: IpAddr = [192, 0, 2, 1].into();
        let book = Book::open(&cloud);
        cloud.reserve_on(ip, 1);
        let tally = book.begin();
        cloud.human_moves(ip, Some(2));
        assert_eq!(tally.sum().to_string(), "1 moved, 0 calls, 0 dropped");
        cloud.human_moves(ip, None);
        cloud.human_moves(ip, Some(1));
        assert_eq!(tally.sum().to_string(), "0 moved, 0 calls, 1 dropped");
        assert_eq!(book.begin().sum().to_string(), "0 moved, 0 calls, 0 dropped");
    }
}
