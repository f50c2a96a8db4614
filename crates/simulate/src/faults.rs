//! Faults of single requests, and the requests each fault applies to.

use std::time::Duration;

use fakecloud::Answer as CloudAnswer;
use fakekube::Answer as ApiAnswer;
use serde::{Deserialize, Serialize};

use crate::wire::{ApiAction, CloudAction};

/// A fault of a request to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudFault {
    /// The request is lost.
    LostRequest,
    /// The answer is lost.
    LostAnswer,
    /// The effect comes after the caller stopped waiting.
    LateEffect,
    /// The answer comes after the caller stopped waiting.
    LateAnswer,
    /// The request takes a few seconds.
    Slow,
    /// 429.
    TooMany,
    /// 500 without an effect.
    Broken,
    /// 502 after the effect.
    BadGateway,
    /// 503 without an effect.
    Unavailable,
    /// 500 after the effect.
    BrokenAfter,
    /// 503 after the effect.
    UnavailableAfter,
    /// 504 after the effect.
    GatewayTimeout,
    /// The request arrives twice.
    Duplicated,
    /// An HTML page with status 200, without an effect.
    Nonsense,
    /// An HTML page with status 200, after the effect.
    Garbled,
    /// The started operation fails.
    OperationFails,
    /// The started operation is reported as completed, without an effect.
    OperationIgnored,
    /// The started operation takes long.
    OperationSlow,
    /// The started operation is invisible at first.
    OperationHidden,
    /// A page of a listing lacks an address.
    PageGap,
}

impl CloudFault {
    /// All faults.
    pub const ALL: [Self; 20] = [
        Self::LostRequest,
        Self::LostAnswer,
        Self::LateEffect,
        Self::LateAnswer,
        Self::Slow,
        Self::TooMany,
        Self::Broken,
        Self::BadGateway,
        Self::Unavailable,
        Self::BrokenAfter,
        Self::UnavailableAfter,
        Self::GatewayTimeout,
        Self::Duplicated,
        Self::Nonsense,
        Self::Garbled,
        Self::OperationFails,
        Self::OperationIgnored,
        Self::OperationSlow,
        Self::OperationHidden,
        Self::PageGap,
    ];

    /// Whether the fault applies to this request.
    pub fn befalls(self, action: CloudAction) -> bool {
        let starts = matches!(
            action,
            CloudAction::Assign
                | CloudAction::Unassign
                | CloudAction::CreateOn
                | CloudAction::DropOwn
                | CloudAction::RestoreOwn
        );
        match self {
            Self::OperationFails
            | Self::OperationIgnored
            | Self::OperationSlow
            | Self::OperationHidden => starts,
            Self::PageGap => action.lists(),
            // Reservations have no idempotency key. In a region, a duplicate reserves a second
            // address. On a machine the second request is refused, and the present address may be
            // anybody's.
            Self::Duplicated => !action.creates(),
            // A read has no effect that could precede the answer.
            Self::BrokenAfter | Self::UnavailableAfter | Self::Garbled => action.changes(),
            _ => true,
        }
    }

    /// The emulator's fault. Delays, together with the longest lag of reads, stay below a leader's
    /// waiting time.
    pub fn carried(self, dice: &mut fastrand::Rng) -> fakecloud::Fault {
        use fakecloud::{CloudFault as Own, Fault};
        let millis = |dice: &mut fastrand::Rng, range| Duration::from_millis(dice.u64(range));
        match self {
            Self::LostRequest => Fault::LostBefore,
            Self::LostAnswer => Fault::LostAfter,
            Self::LateEffect => Fault::DelayBefore(millis(dice, 5_100..6_500)),
            Self::LateAnswer => Fault::DelayAfter(millis(dice, 5_100..9_000)),
            Self::Slow => Fault::DelayBefore(millis(dice, 500..4_000)),
            Self::TooMany => {
                let seconds = dice.u8(1..5).to_string();
                Fault::Answer(CloudAnswer::status(429).header("retry-after", &seconds))
            }
            Self::Broken => Fault::Answer(CloudAnswer::status(500)),
            Self::BadGateway => Fault::AnswerAfterEffect(CloudAnswer::status(502)),
            Self::Unavailable => Fault::Answer(CloudAnswer::status(503)),
            Self::BrokenAfter => Fault::AnswerAfterEffect(CloudAnswer::status(500)),
            Self::UnavailableAfter => Fault::AnswerAfterEffect(CloudAnswer::status(503)),
            Self::GatewayTimeout => Fault::AnswerAfterEffect(CloudAnswer::status(504)),
            Self::Duplicated => Fault::Own(Own::Duplicated),
            Self::Nonsense => Fault::Answer(nonsense()),
            Self::Garbled => Fault::AnswerAfterEffect(nonsense()),
            Self::OperationFails => Fault::Own(Own::ActionErrors),
            Self::OperationIgnored => Fault::Own(Own::ActionIgnored),
            Self::OperationSlow => Fault::Own(Own::ActionTakes(millis(dice, 8_000..15_000))),
            Self::OperationHidden => Fault::Own(Own::ActionHidden(millis(dice, 500..3_000))),
            Self::PageGap => Fault::Own(Own::PageGap),
        }
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::LostRequest => "request lost",
            Self::LostAnswer => "answer lost",
            Self::LateEffect => "effect late",
            Self::LateAnswer => "answer late",
            Self::Slow => "slow",
            Self::TooMany => "429",
            Self::Broken => "500",
            Self::BadGateway => "502 after the effect",
            Self::Unavailable => "503",
            Self::BrokenAfter => "500 after the effect",
            Self::UnavailableAfter => "503 after the effect",
            Self::GatewayTimeout => "504 after the effect",
            Self::Duplicated => "arrives twice",
            Self::Nonsense => "nonsense",
            Self::Garbled => "nonsense after the effect",
            Self::OperationFails => "operation fails",
            Self::OperationIgnored => "operation ignored",
            Self::OperationSlow => "operation slow",
            Self::OperationHidden => "operation hidden",
            Self::PageGap => "gap between pages",
        }
    }
}

/// The answer of a proxy unrelated to the provider.
fn nonsense() -> CloudAnswer {
    CloudAnswer::status(200).raw("text/html", "<h1>It works!</h1>")
}

/// A fault of a request to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiFault {
    /// The request is lost.
    LostRequest,
    /// The answer is lost.
    LostAnswer,
    /// etcd stalls: the effect comes after the caller stopped waiting.
    Stalled,
    /// The request takes up to 2.5 s.
    Slow,
    /// 409.
    Conflict,
    /// 429.
    TooMany,
    /// 500 without an effect.
    Broken,
    /// 503 without an effect.
    Unavailable,
    /// 504 after the effect.
    GatewayTimeout,
    /// The watch breaks after a while.
    WatchBreaks,
}

impl ApiFault {
    /// All faults.
    pub const ALL: [Self; 10] = [
        Self::LostRequest,
        Self::LostAnswer,
        Self::Stalled,
        Self::Slow,
        Self::Conflict,
        Self::TooMany,
        Self::Broken,
        Self::Unavailable,
        Self::GatewayTimeout,
        Self::WatchBreaks,
    ];

    /// Whether the fault applies to this request.
    pub fn befalls(self, action: ApiAction) -> bool {
        match self {
            Self::Conflict => action.changes(),
            Self::WatchBreaks => action.watches(),
            _ => true,
        }
    }

    /// The emulator's fault.
    pub fn carried(self, dice: &mut fastrand::Rng) -> fakekube::Fault {
        use fakekube::{Fault, KubeFault};
        let millis = |dice: &mut fastrand::Rng, range| Duration::from_millis(dice.u64(range));
        match self {
            Self::LostRequest => Fault::LostBefore,
            Self::LostAnswer => Fault::LostAfter,
            Self::Stalled => Fault::DelayBefore(millis(dice, 6_000..14_000)),
            Self::Slow => Fault::DelayBefore(millis(dice, 200..2_500)),
            Self::Conflict => Fault::Answer(ApiAnswer::status(409)),
            Self::TooMany => Fault::Answer(ApiAnswer::status(429).retry_after(1)),
            Self::Broken => Fault::Answer(ApiAnswer::status(500)),
            Self::Unavailable => Fault::Answer(ApiAnswer::status(503)),
            Self::GatewayTimeout => Fault::AnswerAfterEffect(ApiAnswer::status(504)),
            Self::WatchBreaks => Fault::Own(KubeFault::WatchBreaks(millis(dice, 10..5_000))),
        }
    }

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::LostRequest => "request lost",
            Self::LostAnswer => "answer lost",
            Self::Stalled => "stalled",
            Self::Slow => "slow",
            Self::Conflict => "409",
            Self::TooMany => "429",
            Self::Broken => "500",
            Self::Unavailable => "503",
            Self::GatewayTimeout => "504 after the effect",
            Self::WatchBreaks => "watch breaks",
        }
    }
}
