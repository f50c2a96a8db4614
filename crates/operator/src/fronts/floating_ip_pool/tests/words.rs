//! Messages name the fields and annotations of the kind.

use pontoon_core::addresses::verdict::{AddressVerdict, Note, Reason, State, Verdict};
use pontoon_core::model::Remembered;
use pontoon_core::records::verdict::RecordReason;

use super::failing_dns::{at, in_place, record};

fn told(reason: Reason) -> String {
    Verdict { reason, ..in_place() }.to_string()
}

#[test]
fn a_message_about_reserved_addresses_names_the_field_or_annotation_to_change() {
    let next = at(60);
    assert_eq!(
        told(Reason::ReleaseFailed("no".into(), next)),
        format!(
            "being deleted; releasing an address failed: no; next attempt at {next}; set \
             deletionPolicy to Retain to keep the address and let the pool go"
        )
    );
    assert_eq!(
        told(Reason::LedgerRefused("no".into())),
        "0 of 0 in place; the API server refuses to write the annotation pontoon.dev/addresses of \
         this object, without which no address is reserved or released: no. Grant what the chart's \
         roles grant, or let the admission policy pass it; tried again within a minute"
    );
    assert_eq!(
        told(Reason::CreateOutcomeUnknown(vec![[192, 0, 2, 1].into()])),
        "0 of 0 in place; a reservation had no answer, and the account has new addresses that nobody \
         lists: 192.0.2.1. Annotate the object with pontoon.dev/resolve-create=<address> if the \
         reservation made one of these, otherwise with pontoon.dev/resolve-create=none"
    );
}

#[test]
fn a_message_about_an_unused_address_names_the_policy_that_releases_it() {
    let unused = AddressVerdict {
        ip: [192, 0, 2, 1].into(),
        state: State::Disabled,
        node: None,
        machine: None,
        provider_id: None,
        cordoned: false,
        note: Some(Note::Surplus { reserved: true }),
        memory: Remembered::default(),
    };
    let said = Verdict { addresses: vec![unused], ..in_place() }.to_string();
    assert!(
        said.ends_with(
            "; 1 reserved address is not used, because the pool wants fewer than before: it is \
             released when the pool is deleted with deletionPolicy: Release, or forgotten when \
             released at the provider by hand"
        ),
        "{said}"
    );
}

#[test]
fn a_message_about_an_emptied_name_names_the_policy_that_empties_it() {
    assert_eq!(
        record(RecordReason::Removed).to_string(),
        "there is no address to list; the name lists none (emptyPolicy: Remove)"
    );
}
