//! Calls to providers: translates core's types to the providers' and back.

use std::net::IpAddr;

use pontoon_core::action::{AddressAction, Done, Failure, FailureKind, ListScope, OperationState};
use pontoon_core::model::{Family, Intent, Sighting, Text};
use pontoon_providers as providers;
use pontoon_providers::layers::HeldBack;
use pontoon_providers::{AddressProvider, ErrorKind, Families, ListRequest};

/// Makes a call to the provider.
pub(super) async fn call(
    provider: &dyn AddressProvider,
    call: &AddressAction,
) -> Result<Done, Failure> {
    let result = match call {
        AddressAction::List { families, confirms, scope, .. } => {
            list(provider, families, *confirms, scope).await
        }
        AddressAction::Read { ip, .. } => read(provider, *ip).await,
        AddressAction::ReadOperation { ip, operation, .. } => {
            let id = providers::OperationId(operation.to_string());
            provider.operation(*ip, &id).await.map(|state| Done::Operation(operation_state(&state)))
        }
        AddressAction::Assign { ip, machine, .. } => {
            let machine = providers::MachineId(machine.to_string());
            provider.assign(*ip, &machine).await.map(accepted)
        }
        AddressAction::Unassign { ip, .. } => provider.unassign(*ip).await.map(accepted),
        AddressAction::RestoreEgress { machine, .. } => {
            let machine = providers::MachineId(machine.to_string());
            provider.restore_egress(&machine).await.map(accepted)
        }
        AddressAction::Release { ip, .. } => provider.release(*ip).await.map(|()| Done::Released),
        AddressAction::Create { intent, mark, .. } => {
            create(provider, intent, mark.as_deref()).await
        }
    };
    result.map_err(failure)
}

async fn list(
    provider: &dyn AddressProvider,
    families: &[Family],
    confirms: bool,
    scope: &ListScope,
) -> providers::Result<Done> {
    let machines = scope.machines.iter().map(|machine| providers::MachineId(machine.to_string()));
    let asked = ListRequest {
        families: Families {
            v4: families.contains(&Family::V4),
            v6: families.contains(&Family::V6),
        },
        machines: machines.collect(),
        addresses: scope.addresses.clone(),
    };
    let listed =
        if confirms { provider.confirm(&asked).await? } else { provider.list(&asked).await? };
    let addresses = listed.addresses.into_iter().map(|one| (one.ip, sighting(one))).collect();
    Ok(match listed.limited {
        Some(limited) => Done::ListedInPart(addresses, limited.as_str().into()),
        None => Done::Listed(addresses),
    })
}

async fn read(provider: &dyn AddressProvider, ip: IpAddr) -> providers::Result<Done> {
    Ok(Done::Read(provider.read(ip).await?.map(sighting)))
}

async fn create(
    provider: &dyn AddressProvider,
    intent: &Intent,
    mark: Option<&str>,
) -> providers::Result<Done> {
    let request = providers::CreateRequest {
        family: match intent.family {
            Family::V4 => providers::Family::V4,
            Family::V6 => providers::Family::V6,
        },
        region: intent.region.to_string(),
        machine: intent.target.as_ref().map(|target| providers::MachineId(target.to_string())),
        mark: mark.map(str::to_owned),
    };
    let created = provider.create(&request).await?;
    let ip = created.ip;
    Ok(match created.placement {
        Some(providers::Accepted::Pending(id)) => {
            Done::Created { ip, pending: Some(id.0.as_str().into()) }
        }
        Some(providers::Accepted::Done) => Done::Created { ip, pending: None },
        None => Done::CreatedLoose { ip },
    })
}

fn accepted(accepted: providers::Accepted) -> Done {
    match accepted {
        providers::Accepted::Done => Done::Effective,
        providers::Accepted::Pending(id) => Done::Accepted(id.0.as_str().into()),
    }
}

fn sighting(address: providers::Address) -> Sighting {
    let text = |text: Option<String>| text.map(|text| Text::from(text.as_str()));
    Sighting {
        holder: address.holder.map(|machine| machine.0.as_str().into()),
        region: text(address.region),
        project: text(address.project),
        mark: text(address.mark),
        busy: address.busy,
    }
}

fn operation_state(state: &providers::OperationState) -> OperationState {
    match state {
        providers::OperationState::Running => OperationState::Running,
        providers::OperationState::Done => OperationState::Done,
        providers::OperationState::Failed => OperationState::Failed,
        providers::OperationState::Unheard => OperationState::Unheard,
    }
}

pub(super) fn failure(error: providers::Error) -> Failure {
    let kind = match error.kind {
        ErrorKind::NotSent => FailureKind::NotSent,
        ErrorKind::HeldBack(HeldBack { retry_after, pacing }) => {
            FailureKind::HeldBack { wait: retry_after, pacing }
        }
        ErrorKind::RateLimited { retry_after } => FailureKind::Throttled { wait: retry_after },
        ErrorKind::NoAnswer => FailureKind::NoAnswer,
        ErrorKind::Unavailable => FailureKind::Unavailable,
        ErrorKind::Unauthorized | ErrorKind::Forbidden => FailureKind::Refused,
        ErrorKind::NotFound => FailureKind::NotFound,
        ErrorKind::Busy => FailureKind::Busy,
        ErrorKind::QuotaExceeded => FailureKind::Quota,
        ErrorKind::Rejected => FailureKind::Rejected,
    };
    Failure {
        kind,
        message: error.message.as_str().into(),
        seen: error.seen.map(|seen| sighting(*seen)),
        displaced: error.displaced,
    }
}
