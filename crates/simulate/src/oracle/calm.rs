//! Bounds on the age of an observer's view, from the times of trouble.

use crate::schedule::Millis;

/// The times of trouble.
#[derive(Debug, Default)]
pub(super) struct Calm {
    troubles: u32,
    /// The start of the trouble that may still have consequences.
    since: Millis,
    /// The end of the last trouble.
    until: Option<Millis>,
}

impl Calm {
    /// Trouble begins or ends. The consequences last `lag` longer.
    pub fn change(&mut self, begins: bool, now: Millis, lag: Millis) {
        if begins {
            let over = self.until.is_none_or(|until| until + lag < now);
            if self.troubles == 0 && over {
                self.since = now;
            }
            self.troubles += 1;
            self.until = Some(now);
        } else {
            self.troubles = self.troubles.saturating_sub(1);
            self.until = Some(now);
        }
    }

    /// Whether trouble and its consequences are over.
    pub fn is_over(&self, now: Millis, lag: Millis) -> bool {
        self.troubles == 0 && self.until.is_none_or(|until| until + lag <= now)
    }

    /// The end of the last trouble, or the start of the run.
    pub fn ended(&self) -> Millis {
        self.until.unwrap_or(0)
    }

    /// The time before which every change is known to every observer.
    pub fn floor(&self, now: Millis, in_calm: Millis, lag: Millis) -> Millis {
        let over = self.troubles == 0 && self.until.is_none_or(|until| until + lag < now);
        let seen = if over { now } else { self.since };
        seen.saturating_sub(in_calm)
    }
}
