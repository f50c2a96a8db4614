//! Names of actions in metrics and events.

use pontoon_core::action::{Action, AddressAction, RecordAction, VipAction};
use pontoon_core::model::MarkPlace;

/// The names of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The label `call` of the metrics, for a call to a provider. The predecessor's name, where the
    /// predecessor has such a call.
    pub call: Option<&'static str>,
    /// The reason of the event for a withheld action that is announced.
    pub withheld: Option<&'static str>,
}

/// The names of an action.
pub fn names(action: &Action) -> Names {
    let (call, withheld) = match action {
        Action::Address(call) => match call {
            AddressAction::List { .. } | AddressAction::Read { .. } => ("IPToProviderID", None),
            AddressAction::ReadOperation { .. } => ("ReadOperation", None),
            AddressAction::Assign { .. } => ("AssignIP", Some("WouldAssign")),
            AddressAction::Unassign { .. } => ("UnassignIP", Some("WouldUnassign")),
            AddressAction::Release { .. } => ("ReleaseIP", Some("WouldRelease")),
            AddressAction::RestoreEgress { .. } => ("RestoreEgress", Some("WouldRestoreEgress")),
            AddressAction::Create { .. } => ("CreateIP", Some("WouldCreate")),
        },
        Action::Record(RecordAction::Read { .. }) => ("ListDNSRecords", None),
        Action::Record(RecordAction::Change { .. }) => {
            ("EnsureDNSARecordSet", Some("WouldUpdateRecord"))
        }
        // A new intent is announced as the reservation that follows the write.
        Action::Ledger(write) => {
            let withheld = (write.new_intents > 0).then_some("WouldCreate");
            return Names { call: None, withheld };
        }
        // Workloads select nodes by a label, and a planned move begins with its removal.
        Action::Mark(write) => {
            let withheld = (write.mark.place == MarkPlace::Label).then_some("WouldLabel");
            return Names { call: None, withheld };
        }
        Action::Evict(_) => return Names { call: None, withheld: Some("WouldEvict") },
        Action::Vip(action) => return Names { call: None, withheld: withheld_vip(action) },
    };
    Names { call: Some(call), withheld }
}

/// The reason of the event for a withheld write. Writes that only tidy up are not announced.
fn withheld_vip(action: &VipAction) -> Option<&'static str> {
    match action {
        VipAction::CreateClaim { .. } => Some("WouldClaim"),
        VipAction::DeleteClaim { .. } => Some("WouldFallBack"),
        VipAction::SetEndpoint(_) => Some("WouldSetEndpoint"),
        VipAction::SetIngress(_) => Some("WouldSetIngress"),
        VipAction::AdoptClaim { .. }
        | VipAction::RepairEndpoint(_)
        | VipAction::ListAddresses { .. }
        | VipAction::KeepHolder { .. }
        | VipAction::DropHolder { .. } => None,
    }
}
