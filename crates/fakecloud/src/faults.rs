//! The faults of a cloud, beside those that all emulators have.

use std::time::Duration;

use fakehttp::{OwnFault, RuleId, millis};
use serde::{Deserialize, Serialize};

use crate::operation::Fate;

/// The failure that a rule causes.
pub type Fault = fakehttp::Fault<Answer, CloudFault>;

/// A fault with its filter and its limits.
pub type Rule = fakehttp::Rule<Answer, CloudFault>;

/// The active rules of a cloud.
pub(crate) type Rules = fakehttp::Rules<Answer, CloudFault>;

/// The combined faults of a request.
pub(crate) type Weather = fakehttp::Weather<Answer, CloudWeather>;

/// A request that has arrived.
pub(crate) type Arrival = fakehttp::Arrival<Answer, CloudWeather>;

/// An answer that replaces the vendor's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Message in the vendor's error body; by default the vendor's usual message.
    #[serde(default)]
    pub message: Option<String>,
    /// Additional headers.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Content type and body that replace the vendor's body, as from a proxy.
    #[serde(default)]
    pub raw: Option<(String, String)>,
}

impl Answer {
    /// A status with the vendor's usual body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, headers: Vec::new(), raw: None }
    }

    /// Replaces the message in the vendor's body.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the whole body.
    #[must_use]
    pub fn raw(mut self, content_type: &str, body: &str) -> Self {
        self.raw = Some((content_type.to_owned(), body.to_owned()));
        self
    }
}

/// The faults that only clouds have.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudFault {
    /// Executes the request twice, one right after the other, as after a retry by a proxy; the second
    /// answer is returned.
    Duplicated,
    /// Sets the duration of the action that the request starts.
    ActionTakes(#[serde(with = "millis")] Duration),
    /// Makes the action that the request starts end as errored.
    ActionErrors,
    /// Makes the action that the request starts end as completed, but without effect.
    ActionIgnored,
    /// Hides the action that the request starts from reads for the given time.
    ActionHidden(#[serde(with = "millis")] Duration),
    /// Drops an item from the second and later pages of a listing, as if an earlier item had been
    /// deleted meanwhile.
    PageGap,
}

/// The combined faults that only clouds have.
#[derive(Clone, Debug, Default)]
pub struct CloudWeather {
    pub(crate) duplicated: bool,
    pub(crate) action_time: Option<Duration>,
    pub(crate) action_fate: Option<Fate>,
    pub(crate) action_hidden: Option<Duration>,
    pub(crate) page_gap: bool,
}

impl OwnFault for CloudFault {
    type Combined = CloudWeather;

    fn add_to(&self, weather: &mut CloudWeather, _: Option<RuleId>) {
        match self {
            Self::Duplicated => weather.duplicated = true,
            Self::ActionTakes(time) => weather.action_time = Some(*time),
            Self::ActionErrors => weather.action_fate = Some(Fate::Errors),
            Self::ActionIgnored => weather.action_fate = Some(Fate::Ignored),
            Self::ActionHidden(time) => weather.action_hidden = Some(*time),
            Self::PageGap => weather.page_gap = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_faults_have_one_form_in_json() {
        for fault in [json!("lost_after"), json!("page_gap"), json!({"action_takes": 5})] {
            let rule: Option<Rule> = serde_json::from_value(json!({"fault": fault})).ok();
            let again = rule.and_then(|rule| serde_json::to_value(rule.fault).ok());
            assert_eq!(again, Some(fault));
        }
    }
}
