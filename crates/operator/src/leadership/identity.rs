//! The name of a process in a Lease.

/// The name of a process and of its pod.
///
/// The text is `name_token`, in a pod `name_uid_token`. The token differs between any two
/// processes; the processes of a pod, which run in sequence, share its UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    text: String,
    pod: Option<String>,
}

impl Identity {
    /// `token` is drawn anew by each process; `pod` is the UID of the pod, if any.
    pub fn new(name: &str, pod: Option<&str>, token: &str) -> Self {
        let text = match pod {
            Some(uid) => format!("{name}_{uid}_{token}"),
            None => format!("{name}_{token}"),
        };
        Self { text, pod: pod.map(ToOwned::to_owned) }
    }

    /// The text in a Lease.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `holder` is another process of our pod. A pod has one container of ours, and a
    /// container one process at a time: since we run, the other process is dead.
    pub(super) fn is_of_our_pod(&self, holder: &str) -> bool {
        let mut parts = holder.rsplitn(3, '_');
        let (token, uid, name) = (parts.next(), parts.next(), parts.next());
        let named = token.is_some() && name.is_some() && holder != self.text;
        named && uid.is_some() && uid == self.pod.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_of_the_pod_is_known_by_the_uid_alone() {
        let us = Identity::new("pontoon-7d4b9", Some("0e9a-41"), "aa");
        assert_eq!(us.as_str(), "pontoon-7d4b9_0e9a-41_aa");
        for (holder, of_our_pod) in [
            ("pontoon-7d4b9_0e9a-41_bb", true),
            ("a_name_0e9a-41_bb", true),
            ("pontoon-7d4b9_0e9a-41_aa", false),
            ("pontoon-7d4b9_1f00-52_bb", false),
            ("0e9a-41_bb", false),
            ("0e9a-41", false),
            ("pontoon-7d4b9_bb", false),
            ("", false),
        ] {
            assert_eq!(us.is_of_our_pod(holder), of_our_pod, "{holder}");
        }
    }

    #[test]
    fn without_a_pod_every_other_holder_is_foreign() {
        let us = Identity::new("laptop", None, "aa");
        assert_eq!(us.as_str(), "laptop_aa");
        for holder in ["laptop_bb", "laptop__bb", "laptop_0e9a_bb", "_", ""] {
            assert!(!us.is_of_our_pod(holder), "{holder}");
        }
    }
}
