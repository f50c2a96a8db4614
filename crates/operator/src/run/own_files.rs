//! The operator's own files, read again while it runs.

use super::replica::Replica;
use crate::clouds::News;
use crate::policy::Reread;

impl Replica {
    /// Reads the policy file again. Returns whether another policy is in force.
    pub(super) fn look_at_policy(&mut self) -> bool {
        let Some(file) = &mut self.policy else { return false };
        let reread = file.reread();
        match &reread {
            Reread::Same => {}
            Reread::Restored | Reread::Changed(_) => {
                tracing::info!("the policy file is in force as it is");
                self.metrics.policy_is_current(true);
            }
            Reread::Refused(problem) => {
                tracing::error!(problem, "the policy before stays in force");
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
                News::Opened(id) => {
                    let clouds = self.executor.clouds();
                    let setup = clouds.setups().find(|(account, _)| account == id);
                    let hosts =
                        clouds.hosts().any(|(account, setup)| account == *id && setup.is_ok());
                    if let Some((_, Ok(setup))) = setup {
                        self.world.open_account(id, setup);
                    }
                    if hosts {
                        self.world.open_record_account(id);
                    }
                }
                News::Renewed(id) => self.world.renew_account(id, self.env.now()),
            }
        }
        !news.is_empty()
    }
}
