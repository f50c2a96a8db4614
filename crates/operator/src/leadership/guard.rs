//! Decides whether a call may start now, from the election's last published standing and the time,
//! without waiting.

use std::time::Duration;

use super::{Role, Tenure};

/// Why a call must not start. The text is for a verdict or a log line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPermitted {
    /// Another replica leads, or no replica yet.
    #[error("this replica does not lead: {}", leader.as_deref().map_or("nobody does yet".to_owned(), |name| format!("{name} does")))]
    Follower {
        /// The holder's identity, if the Lease has a holder.
        leader: Option<String>,
    },
    /// We lead, but in another term than the term of the decision.
    #[error("decided in term {decided} of leadership, which is over: this is term {current}")]
    OtherTerm {
        /// The term of the decision.
        decided: u64,
        /// The term now.
        current: u64,
    },
    /// The previous leader vanished; its calls may still take effect.
    #[error("calls of the previous leader may still take effect for {left:?}")]
    Settling {
        /// Remaining wait.
        left: Duration,
    },
    /// Renewals fail, and the rest of the lease is shorter than a call.
    #[error("the Lease was not renewed for {since:?}: a call could outlive the Lease")]
    LeaseRunsOut {
        /// Time since the last successful renewal was sent.
        since: Duration,
    },
    /// The Lease was seen in other hands, without a successful renewal since.
    #[error("the Lease was deleted or changed by somebody else; renewing it to make sure")]
    Contested,
    /// [`release`](super::Leadership::release) was called.
    #[error("leadership was given up: this replica is stopping")]
    Released,
}

/// The standing of this replica in the election, as the guard's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Follower {
        leader: Option<String>,
    },
    Leader {
        tenure: Tenure,
        /// When the last successful renewal was sent.
        renewed: Duration,
        /// Until this time we trust the renewal.
        trusted_until: Duration,
        /// Whether the Lease was seen in other hands since.
        contested: bool,
    },
    Released,
}

impl Standing {
    pub fn role(&self) -> Role {
        match self {
            Self::Follower { leader } => Role::Follower { leader: leader.clone() },
            Self::Leader { tenure, .. } => Role::Leader(*tenure),
            Self::Released => Role::Follower { leader: None },
        }
    }

    /// Whether we hold the Lease now.
    pub fn leads(&self, now: Duration) -> bool {
        matches!(self, Self::Leader { trusted_until, contested: false, .. } if now < *trusted_until)
    }

    /// The term, if a call that may take `reserve` may start now.
    pub fn permit(&self, now: Duration, reserve: Duration) -> Result<u64, NotPermitted> {
        match self {
            Self::Follower { leader } => Err(NotPermitted::Follower { leader: leader.clone() }),
            Self::Released => Err(NotPermitted::Released),
            Self::Leader { contested: true, .. } => Err(NotPermitted::Contested),
            Self::Leader { renewed, trusted_until, .. }
                if now >= trusted_until.saturating_sub(reserve) =>
            {
                Err(NotPermitted::LeaseRunsOut { since: now.saturating_sub(*renewed) })
            }
            Self::Leader { tenure, .. } if now < tenure.settle_until => {
                Err(NotPermitted::Settling { left: tenure.settle_until - now })
            }
            Self::Leader { tenure, .. } => Ok(tenure.term),
        }
    }
}
