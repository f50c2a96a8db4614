//! Cloudflare's identifiers: 32 opaque hexadecimal digits.

use crate::handle::FakeCloud;

impl FakeCloud {
    /// Cloudflare's identifier of a zone. Derived from the name, so known before the zone exists.
    #[must_use]
    pub fn zone_id(&self, domain: &str) -> String {
        zone_id(domain)
    }
}

/// The identifier of a zone, derived from its name: the same in every run.
pub(super) fn zone_id(name: &str) -> String {
    // FNV-1a, 128 bits wide.
    let hash = name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

/// The identifier of a record.
pub(super) fn record_id(number: u64) -> String {
    format!("{:016x}{number:016x}", scrambled(number))
}

/// The number of the record with an identifier; `None` if the identifier is invalid.
pub(super) fn record_number(id: &str) -> Option<u64> {
    let number = u64::from_str_radix(id.get(16..)?, 16).ok()?;
    (record_id(number) == id).then_some(number)
}

fn scrambled(number: u64) -> u64 {
    (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_32_digits_and_lead_back() {
        assert_eq!(zone_id("example.com").len(), 32);
        assert_ne!(zone_id("example.com"), zone_id("example.org"));
        let id = record_id(4_800_000_001);
        assert_eq!((id.len(), record_number(&id)), (32, Some(4_800_000_001)));
        assert_ne!(record_id(4_800_000_002), id);
        for strange in ["", "7", "é", &id[16..], &id.replace('0', "1"), "0".repeat(32).as_str()] {
            let known = record_number(strange);
            assert!(known.is_none_or(|number| record_id(number) == strange), "{strange}");
        }
    }
}
