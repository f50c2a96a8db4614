//! The record of exchanges.

use std::collections::VecDeque;

/// The kept part of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Recording {
    /// Everything.
    #[default]
    All,
    /// The given number of latest exchanges.
    Last(usize),
    /// Nothing; arrivals are still counted.
    Off,
}

/// The record of an emulator. `E` is an exchange: a request and its answer.
#[derive(Debug)]
pub struct Log<E> {
    kept: VecDeque<(u64, E)>,
    arrivals: u64,
    recording: Recording,
}

impl<E> Log<E> {
    /// An empty record.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self { kept: VecDeque::new(), arrivals: 0, recording }
    }

    /// Number of arrived requests, recorded or not, and the sequence number of the next one.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The kept exchanges, in the order of arrival.
    pub fn exchanges(&self) -> impl Iterator<Item = &E> {
        self.kept.iter().map(|(_, exchange)| exchange)
    }

    /// Sets how many exchanges the record keeps.
    pub fn set(&mut self, recording: Recording) {
        self.recording = recording;
        self.trim();
    }

    /// Forgets the exchanges so far.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Records an arrival and returns its sequence number. `exchange` is called only if the record
    /// keeps it.
    pub fn arrival(&mut self, exchange: impl FnOnce(u64) -> E) -> u64 {
        let sequence = self.arrivals;
        self.arrivals += 1;
        if self.recording != Recording::Off {
            self.kept.push_back((sequence, exchange(sequence)));
            self.trim();
        }
        sequence
    }

    /// The exchange of an arrival, if still kept.
    pub fn entry(&mut self, sequence: u64) -> Option<&mut E> {
        let at = self.kept.binary_search_by_key(&sequence, |(of, _)| *of).ok()?;
        self.kept.get_mut(at).map(|(_, exchange)| exchange)
    }

    fn trim(&mut self) {
        let keep = match self.recording {
            Recording::All => return,
            Recording::Last(keep) => keep,
            Recording::Off => 0,
        };
        while self.kept.len() > keep {
            self.kept.pop_front();
        }
    }
}
