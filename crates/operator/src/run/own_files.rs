//! The operator's own files, read again while it runs.

use super::replica::Replica;
use crate::clouds::News;
use crate::policy::Reread;

impl Replica {
    /// Shows that the policy file is in force, if there is one.
    pub(super) fn tell_of_policy(&self) {
        if self.policy.is_some() {
            self.metrics.policy_is_current(true);
        }
    }

    /// Reads the policy file again. Returns whether another policy is in force.
    pub(super) fn look_at_policy(&mut self) -> bool {
        let Some(file) = &mut self.policy else { return false };
        let reread = file.reread();
        match &reread {
            Reread::Same => {}
            Reread::Restored | Reread::Changed(_) => {
                tracing::info!("the policy file is in force");
                self.metrics.policy_is_current(true);
            }
            Reread::Refused(problem) => {
                tracing::error!(
                    problem,
                    "the policy file cannot be used; the previous policy stays in force"
                );
                self.metrics.policy_is_current(false);
            }
        }
        let Reread::Changed(policy) = reread else { return false };
        self.world.set_policy(policy);
        true
    }

    /// Reads the files with tokens again. Returns whether a token is new.
    pub(super) fn look_at_tokens(&mut self) -> bool {
        let news = self.executor.clouds().look();
        for one in &news {
            match one {
                News::Setup(id) => {
                    let clouds = self.executor.clouds();
                    let addresses = clouds.setups().find(|(account, _)| account == id);
                    let records = clouds.hosts().find(|(account, _)| account == id);
                    if let Some((_, setup)) = addresses {
                        self.world.open_account(id, setup);
                    }
                    if let Some((_, setup)) = records {
                        self.world.open_record_account(id, setup);
                    }
                }
                News::Renewed(id) => self.world.renew_account(id, self.env.now()),
            }
        }
        !news.is_empty()
    }
}
