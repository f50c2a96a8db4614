//! A set of small numbers in one byte: addresses, nodes, intents.

use std::fmt;

/// A set of numbers below eight.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set(u8);

impl Set {
    /// The numbers below `count`.
    pub fn below(count: usize) -> Self {
        (0..count).collect()
    }

    /// Whether the set contains `one`.
    pub fn contains(self, one: usize) -> bool {
        self.0 & (1 << one) != 0
    }

    /// Adds `one`.
    pub fn insert(&mut self, one: usize) {
        self.0 |= 1 << one;
    }

    /// Removes `one`.
    pub fn remove(&mut self, one: usize) {
        self.0 &= !(1 << one);
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The smallest element.
    pub fn first(self) -> Option<usize> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as usize)
    }

    /// The elements in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self;
        std::iter::from_fn(move || {
            let first = left.first()?;
            left.remove(first);
            Some(first)
        })
    }

    /// The whole set as a number, for comparisons.
    pub fn bits(self) -> u8 {
        self.0
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|one| set.insert(one));
        set
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
