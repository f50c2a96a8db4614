//! Regions, as they appear inside other objects.

use serde_json::{Value, json};

use crate::store::State;

const CITIES: [(&str, &str); 11] = [
    ("ams", "Amsterdam"),
    ("atl", "Atlanta"),
    ("blr", "Bangalore"),
    ("fra", "Frankfurt"),
    ("lon", "London"),
    ("nyc", "New York"),
    ("ric", "Richmond"),
    ("sfo", "San Francisco"),
    ("sgp", "Singapore"),
    ("syd", "Sydney"),
    ("tor", "Toronto"),
];

pub(super) const SIZE: &str = "s-1vcpu-1gb";

/// `nyc3` reads "New York 3"; a slug the vendor does not have reads as itself.
fn name(slug: &str) -> String {
    let known = CITIES.iter().find_map(|(code, city)| {
        let number = slug.strip_prefix(code)?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| format!("{city} {number}"))
    });
    known.unwrap_or_else(|| slug.to_owned())
}

/// Whether addresses can be reserved there: the vendor's own regions, and those that a test seeded something in.
pub(super) fn exists(state: &State, slug: &str) -> bool {
    name(slug) != slug
        || state.machines().any(|m| m.region == slug)
        || state.addresses().any(|a| a.region == slug)
}

/// The object.
pub(super) fn show(slug: &str) -> Value {
    json!({
        "name": name(slug),
        "slug": slug,
        "features": ["backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"],
        "available": true,
        "sizes": [SIZE],
    })
}
