//! Ranges of addresses.

use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses: `192.0.2.0/24`, `2001:db8::/32`, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    length: u32,
}

impl Cidr {
    /// Whether an address is in the range. An IPv4 address written as IPv6 is in no IPv4 range.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                let mask = u32::MAX.checked_shl(32 - self.length).unwrap_or(0);
                u32::from(ip) & mask == u32::from(network)
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or(0);
                u128::from(ip) & mask == u128::from(network)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let form = || format!("\"{text}\" is not a range like 192.0.2.0/24");
        let network: IpAddr = address.parse().map_err(|_| form())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let length = match length {
            None => longest,
            Some(text) if digits(text) => text.parse().map_err(|_| form())?,
            Some(_) => return Err(form()),
        };
        if length > longest {
            return Err(form());
        }
        let whole = Self { network, length };
        // Probably a typing error, and then the range is not the intended one.
        if !whole.contains(network) {
            return Err(format!("\"{text}\" has bits set beyond its prefix"));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_addresses_and_no_other() {
        for (range, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("192.0.2.6/31", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("::/0", "ffff::1", "0.0.0.0"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::2"),
            ("192.0.2.0/24", "192.0.2.1", "::ffff:192.0.2.1"),
        ] {
            let cidr: Cidr = range.parse().unwrap();
            assert!(cidr.contains(inside.parse().unwrap()), "{range}");
            assert!(!cidr.contains(outside.parse().unwrap()), "{range}");
        }
    }

    #[test]
    fn a_text_that_is_no_range_is_refused_in_words() {
        for text in [
            "",
            "/",
            "192.0.2.0/",
            "192.0.2.0/33",
            "192.0.2.0/-1",
            "192.0.2.0/+8",
            "2001:db8::/129",
            "x/8",
        ] {
            assert!(text.parse::<Cidr>().unwrap_err().contains("is not a range"), "{text}");
        }
        let beyond = "192.0.2.1/24".parse::<Cidr>().unwrap_err();
        assert_eq!(beyond, "\"192.0.2.1/24\" has bits set beyond its prefix");
    }
}
