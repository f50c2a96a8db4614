//! What a user chose, and what is not ours, stays as it is.

use pontoon_core::vips::model::{ClaimOwner, Cluster};

use super::fixture::*;
use super::site::{Site, claim, site};

#[test]
fn a_users_host_is_kept_and_nothing_is_claimed() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").with_host("10.9.9.9"));
    assert_eq!(site.settle(), []);
    assert_eq!((site.word("x"), site.host("x")), ("Manual", Some("10.9.9.9")));
    assert!(site.verdicts[&key("x")].is_ready());
    assert_eq!(
        site.message("x"),
        "control plane: 10.9.9.9 was chosen by the user; nothing is claimed"
    );
}

#[test]
fn a_users_host_by_name_is_kept() {
    let mut site =
        site().pool(pool("a").of([7])).cluster(cluster("x").with_host("api.example.com"));
    assert_eq!(site.settle(), []);
}

#[test]
fn a_users_variable_with_an_empty_host_counts_as_the_users_vip() {
    let mut x = cluster("x");
    x.variable = Some("10.9.9.9".into());
    let mut site = site().pool(pool("a").of([7])).cluster(x);
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "Manual");
}

#[test]
fn a_users_variable_beside_our_host_is_kept_and_told() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| x.variable = Some("10.9.9.9".into()));
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "Conflict");
    assert!(site.message("x").contains("remove the variable"), "{}", site.message("x"));
}

#[test]
fn a_host_that_differs_from_its_bound_claim_is_never_touched() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| x.host = Some("10.9.9.9".into()));
    assert_eq!(site.settle(), []);
    assert_eq!((site.word("x"), site.host("x")), ("Conflict", Some("10.9.9.9")));
    assert_eq!(site.api.claims.len(), 1);
}

#[test]
fn a_host_that_a_user_sets_while_the_claim_waits_wins() {
    let mut site = site().pool(pool("a")).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| x.host = Some("10.9.9.9".into()));
    assert_eq!(site.run(600), []);
    assert_eq!(site.word("x"), "Manual");
    let message = site.message("x");
    assert!(message.contains("vip-cp-x has no address; both stay"), "{message}");
}

#[test]
fn one_address_in_two_spellings_is_no_conflict() {
    let mut site = site().pool(pool("a").of_v6([7])).cluster(cluster("x"));
    site.settle();
    assert_eq!(site.host("x"), Some("2001:db8::7"));
    let long = "2001:0db8:0000:0000:0000:0000:0000:0007";
    site.change("x", |x| (x.host, x.variable) = (Some(long.into()), Some(long.into())));
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "Allocated");
}

/// A state in which a Cluster is to be left alone, by the word of its reason.
type Rest = (&'static str, fn(&mut Cluster));

fn restful() -> [Rest; 3] {
    [
        ("Paused", |x| x.paused = true),
        ("Deleting", |x| x.deleting = true),
        ("MovedAway", |x| x.moved_away = true),
    ]
}

fn new_cluster() -> Site {
    site().pool(pool("a").of([7, 8])).cluster(cluster("x").with_ingress())
}

#[test]
fn a_cluster_that_is_paused_or_leaves_gets_no_claim() {
    for (word, rest) in restful() {
        let mut site = new_cluster();
        site.change("x", rest);
        assert_eq!(site.run(600), [], "{word}");
        assert_eq!(site.word("x"), word);
        assert!(site.reason("x").is_silent());
    }
}

#[test]
fn a_cluster_that_is_paused_or_leaves_is_not_written_even_if_its_claim_is_bound() {
    for (word, rest) in restful() {
        let mut site = new_cluster();
        site.api.provider_down = true;
        site.settle();
        site.change("x", rest);
        site.change_claim("vip-cp-x", |claim| claim.bound = Some("vip-cp-x".into()));
        assert_eq!(site.run(600), [], "{word}");
    }
}

#[test]
fn a_cluster_goes_on_after_its_pause() {
    let mut site = new_cluster();
    site.change("x", |x| x.paused = true);
    assert_eq!(site.settle(), []);
    site.change("x", |x| x.paused = false);
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn a_claim_of_another_controller_is_left_to_it() {
    let mut theirs = claim("vip-cp-x");
    theirs.foreign = true;
    let mut site = site().pool(pool("a").of([7])).claim(theirs).cluster(cluster("x"));
    assert_eq!(site.run(60), []);
    assert_eq!(site.word("x"), "Conflict");
}

#[test]
fn a_claim_that_is_moved_away_is_not_used() {
    let mut theirs = claim("vip-cp-x");
    let (uid, name) = ("uid-x".into(), "x".into());
    theirs.owner = Some(ClaimOwner { uid, name, outdated: false, controller: true });
    theirs.moved_away = true;
    let mut site = site().pool(pool("a").of([7])).claim(theirs).cluster(cluster("x"));
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "WaitingForOldClaim");
}

#[test]
fn two_clusters_whose_claims_have_one_name_never_share_it() {
    use pontoon_core::model::Family;
    let mut dual = cluster("x");
    dual.second = Some(Family::V6);
    let mut site = site()
        .pool(pool("a").of([7, 8]))
        .pool(pool("b").of_v6([1]))
        .cluster(dual)
        .cluster(cluster("x-v6"));
    site.settle();
    assert_eq!((site.host("x"), site.host("x-v6")), (Some("192.0.2.7"), Some("192.0.2.8")));
    assert_eq!((site.word("x"), site.word("x-v6")), ("Conflict", "Allocated"));
    assert!(site.message("x").contains("belongs to the Cluster x-v6"), "{}", site.message("x"));
}
