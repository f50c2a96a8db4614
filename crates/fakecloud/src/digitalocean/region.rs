//! Regions inside other objects.

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

/// `nyc3` becomes "New York 3"; an unknown slug stays.
fn name(slug: &str) -> String {
    let known = CITIES.iter().find_map(|(code, city)| {
        let number = slug.strip_prefix(code)?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| format!("{city} {number}"))
    });
    known.unwrap_or_else(|| slug.to_owned())
}

/// Whether addresses can be reserved in the region: the vendor's regions, and regions with a seeded
/// machine or address.
pub(super) fn exists(state: &State, slug: &str) -> bool {
    name(slug) != slug
        || state.machines().any(|m| m.region == slug)
        || state.addresses().any(|a| a.region == slug)
}

/// The region as a JSON object.
pub(super) fn show(slug: &str) -> Value {
    json!({
        "name": name(slug),
        "slug": slug,
        "features": ["backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"],
        "available": true,
        "sizes": [SIZE],
    })
}
