//! Points in time: passed in, never read from a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Microseconds since 1970, UTC: the precision of statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// As microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Time {
    /// In UTC, to the second: `2026-11-15 03:35:57Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000);
        let (days, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
    }
}

/// The Gregorian date of a day counted from 1970-01-01. Years are shifted to begin in
/// March, so that the leap day is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_a_date_that_people_read() {
        let shown = |seconds: i64| Time::from_micros(seconds * 1_000_000).to_string();
        assert_eq!(shown(0), "1970-01-01 00:00:00Z");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00:00Z");
        assert_eq!(shown(1_794_713_757), "2026-11-15 03:35:57Z");
        assert_eq!(shown(-1), "1969-12-31 23:59:59Z");
    }

    #[test]
    fn a_time_that_lies_ahead_is_no_time_ago() {
        let now = Time::from_micros(5);
        assert_eq!(now.since(Time::from_micros(9)), Duration::ZERO);
    }
}
