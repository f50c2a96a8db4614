//! Counts the effects of a command on the addresses, at the provider.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use fakecloud::{FakeCloud, Mark, State};

/// Records every address that loses its machine.
#[derive(Clone)]
pub struct Book {
    cloud: FakeCloud,
    dropped: Arc<Mutex<Vec<IpAddr>>>,
}

impl Book {
    /// Starts recording.
    pub fn open(cloud: &FakeCloud) -> Self {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let (notes, mut before) = (Arc::clone(&dropped), BTreeSet::new());
        cloud.observe(move |_, state| {
            let held = held(state).into_keys().collect::<BTreeSet<_>>();
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.extend(before.difference(&held));
            before = held;
        });
        Self { cloud: cloud.clone(), dropped }
    }

    /// Starts a count.
    pub fn begin(&self) -> Tally {
        let drops = self.dropped.lock().unwrap_or_else(PoisonError::into_inner).len();
        let (mark, before) = (self.cloud.mark(), self.cloud.look(held));
        Tally { book: self.clone(), mark, before, drops }
    }
}

/// A count since a moment.
pub struct Tally {
    book: Book,
    mark: Mark,
    before: BTreeMap<IpAddr, u64>,
    drops: usize,
}

/// The result of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Addresses on another machine now.
    pub moved: usize,
    /// Mutating calls.
    pub calls: usize,
    /// Addresses that were without a machine for a while.
    pub dropped: usize,
}

impl Tally {
    /// The result so far.
    pub fn sum(&self) -> Sum {
        let now = self.book.cloud.look(held);
        let moved = |(ip, machine): &(&IpAddr, &u64)| now.get(*ip) != Some(*machine);
        let dropped = self.book.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped: BTreeSet<_> = dropped.iter().skip(self.drops).collect();
        Sum {
            moved: self.before.iter().filter(moved).count(),
            calls: self.book.cloud.mutations_since(self.mark).len(),
            dropped: dropped.len(),
        }
    }

    /// Whether a read call has arrived since a mark in the call log.
    pub fn was_read_since(&self, mark: Mark) -> bool {
        self.book.cloud.log_since(mark).iter().any(|call| !call.mutates)
    }

    /// The current position in the call log.
    pub fn mark(&self) -> Mark {
        self.book.cloud.mark()
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        write!(f, "{} moved, {} {calls}, {} dropped", self.moved, self.calls, self.dropped)
    }
}

fn held(state: &State) -> BTreeMap<IpAddr, u64> {
    state.addresses().filter_map(|one| Some((one.ip, one.holder?))).collect()
}

#[cfg(test)]
mod tests {
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
        assert_eq!(tally.sum(), Sum { moved: 1, calls: 0, dropped: 0 });
        cloud.human_moves(ip, None);
        cloud.human_moves(ip, Some(1));
        assert_eq!(tally.sum().to_string(), "0 moved, 0 calls, 1 dropped");
        assert_eq!(book.begin().sum(), Sum { moved: 0, calls: 0, dropped: 0 });
    }
}
