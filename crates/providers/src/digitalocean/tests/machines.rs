//! Provider IDs of nodes.

use super::*;

#[test]
fn only_droplet_numbers_are_machines() {
    assert_eq!(machine("digitalocean://3164444"), Some(droplet(3_164_444)));
    assert_eq!(machine("digitalocean://007"), Some(droplet(7)));
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
        assert_eq!(machine(stranger), None, "{stranger}");
    }
}

#[test]
fn a_machine_names_its_provider_id_again() {
    assert_eq!(provider_id(&machine("digitalocean://42").unwrap()), "digitalocean://42");
}
