//! VIPs of Clusters, on a real API server with the definitions of Cluster API, its in-cluster IPAM
//! provider and the garbage collector, in both generations.
//!
//! A plane with these processes costs seconds of processor time, so that all scenarios of a
//! generation share one: each has a namespace of its own (`stage`), and most share an operator too
//! (`management`).

mod crowd;
mod deleting;
mod families;
mod giving;
mod leaving_alone;
mod management;
mod moving;
mod running_out;
mod stage;
mod surroundings;
mod telling;
mod tying;

/// Declares tests of scenarios, each on a management cluster of either generation.
macro_rules! on_both_generations {
    ($($scenario:ident),* $(,)?) => {
        mod on_v1beta2 {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(control_plane::Generation::V1Beta2).await;
            })*
        }
        mod on_v1beta1 {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(control_plane::Generation::V1Beta1).await;
            })*
        }
    };
}
pub(crate) use on_both_generations;
