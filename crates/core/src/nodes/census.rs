//! Number of eligible nodes, and of nodes ruled out by each cause.

use std::fmt;

use super::{PodMatch, Unfit};

/// The nodes of a cluster, judged by the rules of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of eligible nodes.
    pub eligible: usize,
    /// Causes that rule nodes out, the most frequent first.
    pub causes: Vec<(Unfit, usize)>,
    /// The condition on pods, if any.
    pub pods: Option<PodMatch>,
}

/// Most causes named in a message. Nodes of further causes are counted together.
const MOST_CAUSES_NAMED: usize = 6;

impl Census {
    /// A census of these counts.
    pub(crate) fn new(
        (nodes, eligible): (usize, usize),
        causes: impl IntoIterator<Item = (Unfit, usize)>,
        pods: Option<PodMatch>,
    ) -> Self {
        let mut causes: Vec<_> = causes.into_iter().filter(|(_, count)| *count > 0).collect();
        causes.sort_by(|(one, few), (other, many)| (many, one).cmp(&(few, other)));
        Self { nodes, eligible, causes, pods }
    }

    fn cause(&self, f: &mut fmt::Formatter<'_>, unfit: &Unfit, count: usize) -> fmt::Result {
        match unfit {
            Unfit::Labels => write!(f, "{count} not matching by label"),
            Unfit::Deleting => write!(f, "{count} being deleted"),
            Unfit::NotReady => write!(f, "{count} not ready"),
            Unfit::Taint(taint) => write!(f, "{count} with taint {}:{}", taint.key, taint.effect),
            Unfit::NoProviderId => write!(f, "{count} without spec.providerID"),
            Unfit::Unnamed(lacks) => write!(f, "{count} without spec.providerID ({lacks})"),
            Unfit::OtherCloud => write!(f, "{count} of another cloud"),
            Unfit::NoPod => {
                write!(f, "{count} without a ready pod")?;
                self.pods.as_ref().map_or(Ok(()), |pods| write!(f, " {pods}"))
            }
            Unfit::Cordoned => write!(f, "{count} cordoned"),
        }
    }
}

impl fmt::Display for Census {
    /// `2 of 6 nodes eligible: 3 not ready, 1 with taint maint:NoSchedule`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, eligible, causes, .. } = self;
        if *nodes == 0 {
            return f.write_str("the cluster has no node");
        }
        write!(f, "{eligible} of {nodes} node{} eligible", if *nodes == 1 { "" } else { "s" })?;
        for (index, (unfit, count)) in causes.iter().take(MOST_CAUSES_NAMED).enumerate() {
            f.write_str(if index == 0 { ": " } else { ", " })?;
            self.cause(f, unfit, *count)?;
        }
        match causes.iter().skip(MOST_CAUSES_NAMED).map(|(_, count)| count).sum::<usize>() {
            0 => Ok(()),
            more => write!(f, ", {more} for other causes"),
        }
    }
}
