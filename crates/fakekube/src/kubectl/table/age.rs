//! Ages as kubectl shows them.

use jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The age of an object.
pub(super) fn age_of(object: &Value, now: Timestamp) -> Value {
    Value::from(since_or_unknown(&object["metadata"]["creationTimestamp"], now))
}

/// The time since a time; `<unknown>` if missing.
pub(super) fn since_or_unknown(time: &Value, now: Timestamp) -> String {
    match time.as_str() {
        None | Some("") => "<unknown>".to_owned(),
        Some(text) => since(text, now),
    }
}

/// The time since a time: `5m`.
pub(super) fn since(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        // Rounded down, as in the server.
        Ok(then) => human(now.duration_since(then).as_secs()),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// Formats seconds with two or three digits.
fn human(seconds: i64) -> String {
    let two = |whole: i64, unit: char, rest: i64, small: char| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{small}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm'),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, 'y', seconds % YEAR / DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_or_three_figures() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 60, "3h1m"),
            (9 * HOUR, "9h"),
            (3 * DAY + HOUR, "3d1h"),
            (9 * DAY, "9d"),
            (3 * YEAR + DAY, "3y1d"),
            (9 * YEAR, "9y"),
        ] {
            assert_eq!(human(seconds), expected);
        }
    }
}
