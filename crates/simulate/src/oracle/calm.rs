//! How old somebody's view may be, from when there was trouble.

use crate::schedule::Millis;

/// When there was trouble.
#[derive(Debug, Default)]
pub(super) struct Calm {
    troubles: u32,
    /// When the trouble began of which the consequences may not be over.
    since: Millis,
    /// When the last one ended.
    until: Option<Millis>,
}

impl Calm {
    /// Some trouble begins or ends. Its consequences last for `lag` longer.
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

    /// Whether it is over, and its consequences.
    pub fn is_over(&self, now: Millis, lag: Millis) -> bool {
        self.troubles == 0 && self.until.is_none_or(|until| until + lag <= now)
    }

    /// When the last one ended, or when the run began.
    pub fn ended(&self) -> Millis {
        self.until.unwrap_or(0)
    }

    /// The time before which everything is known to whoever looks.
    pub fn floor(&self, now: Millis, in_calm: Millis, lag: Millis) -> Millis {
        let over = self.troubles == 0 && self.until.is_none_or(|until| until + lag < now);
        let seen = if over { now } else { self.since };
        seen.saturating_sub(in_calm)
    }
}
