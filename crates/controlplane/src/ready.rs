//! Waits for a condition on a process, at most until the process ends.

use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::Error;
use crate::component::Component;

/// How long a component may take to become ready.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// Interval between two checks of the condition, and time limit of a single check.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// Repeats `check` until success, and returns its answer.
///
/// Fails at once when the process ends, and after `limit` with the error of the last check and the
/// log.
pub(crate) async fn until_ready<T, E: Display, Answer>(
    component: &mut Component,
    limit: Duration,
    check: impl Fn() -> Answer,
) -> Result<T, Error>
where
    Answer: Future<Output = Result<T, E>>,
{
    let start = Instant::now();
    loop {
        component.still_runs()?;
        let last = match tokio::time::timeout(LOOK_LIMIT, check()).await {
            Ok(Ok(ready)) => return Ok(ready),
            Ok(Err(reason)) => reason.to_string(),
            Err(_) => format!("no answer within {LOOK_LIMIT:?}"),
        };
        if start.elapsed() >= limit {
            return Err(Error::NotReady {
                component: component.name(),
                limit,
                last,
                log: component.log_tail(),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::leash::Leash;

    #[tokio::test]
    async fn a_component_that_never_gets_ready_is_an_error_with_reason_and_log() {
        let leash = Leash::new().unwrap();
        let flags = ["-c".into(), "echo still thinking; exec sleep 600".into()];
        let mut component = Component::start("sh", Path::new("/bin"), &leash, &flags).unwrap();

        let limit = Duration::from_millis(200);
        let error = until_ready(&mut component, limit, async || Err::<(), _>("not yet"))
            .await
            .unwrap_err()
            .to_string();

        assert!(error.contains("sh is not ready after 200ms (not yet)"), "{error}");
        assert!(error.ends_with("still thinking"), "{error}");
    }
}
