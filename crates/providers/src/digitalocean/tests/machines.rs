//! Provider IDs of nodes.

use super::*;

#[test]
fn only_droplet_numbers_are_machines() {
    assert_eq!(named("digitalocean://3164444"), Some(droplet(3_164_444)));
    assert_eq!(named("digitalocean://007"), Some(droplet(7)));
    let strangers = [
        "digitalocean://",
        "digitalocean:///3164444",
        "digitalocean://3164444/",
        "digitalocean://+1",
        "digitalocean://abc",
        "digitalocean://99999999999999999999999",
        "DIGITALOCEAN://1",
        "3164444",
        "hcloud://3164444",
        "",
    ];
    for stranger in strangers {
        assert_eq!(named(stranger), None, "{stranger}");
    }
}

#[test]
fn a_droplet_that_no_node_names_is_shown_like_a_node_would_name_it() {
    assert_eq!(shown(&droplet(42)), "digitalocean://42");
}
