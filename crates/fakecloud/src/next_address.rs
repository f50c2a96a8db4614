//! New addresses: handed out sequentially from the documentation ranges, so that runs are
//! repeatable.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `198.51.100.0/24`, then `203.0.113.0/24`, then `192.0.2.0/24`.
const V4_RANGES: [[u8; 3]; 3] = [[198, 51, 100], [203, 0, 113], [192, 0, 2]];
/// `.1` to `.254`.
const V4_PER_RANGE: u32 = 254;
/// `100.64.0.0/10`, used after the three documentation ranges.
const V4_OVERFLOW: u32 = 0x6440_0000;
const V6_RANGE: u128 = 0x2001_0db8 << 96;

/// The position in the ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handout {
    v4: u32,
    v6: u128,
    /// Handed out first, as by a vendor that reuses a released address for the next customer.
    chosen: VecDeque<IpAddr>,
}

impl Handout {
    /// The next address of a family.
    pub(crate) fn next(&mut self, v6: bool) -> IpAddr {
        if let Some(at) = self.chosen.iter().position(|ip| ip.is_ipv6() == v6)
            && let Some(ip) = self.chosen.remove(at)
        {
            return ip;
        }
        if v6 {
            self.v6 += 1;
            return IpAddr::V6(Ipv6Addr::from(V6_RANGE + self.v6));
        }
        let nth = self.v4;
        self.v4 += 1;
        IpAddr::V4(nth_v4(nth))
    }

    /// Queues an address to be handed out first.
    pub(crate) fn choose(&mut self, ip: IpAddr) {
        self.chosen.push_back(ip);
    }
}

fn nth_v4(nth: u32) -> Ipv4Addr {
    let range = (nth / V4_PER_RANGE) as usize;
    let host = nth % V4_PER_RANGE + 1;
    match V4_RANGES.get(range) {
        Some([a, b, c]) => Ipv4Addr::new(*a, *b, *c, u8::try_from(host).unwrap_or(u8::MAX)),
        None => Ipv4Addr::from(V4_OVERFLOW + nth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_in_order_from_the_documentation_ranges() {
        let mut handout = Handout::default();
        let all: Vec<String> = (0..763).map(|_| handout.next(false).to_string()).collect();
        assert_eq!(all[0], "198.51.100.1");
        assert_eq!(all[253], "198.51.100.254");
        assert_eq!(all[254], "203.0.113.1");
        assert_eq!(all[508], "192.0.2.1");
        assert_eq!(all[761], "192.0.2.254");
        assert!(all[762].starts_with("100.64."));
        assert_eq!(handout.next(true).to_string(), "2001:db8::1");
        assert_eq!(handout.next(true).to_string(), "2001:db8::2");
    }

    #[test]
    fn a_chosen_address_is_handed_out_first() {
        let mut handout = Handout::default();
        let chosen: IpAddr = "203.0.113.77".parse().unwrap();
        handout.choose(chosen);
        assert_eq!(handout.next(true).to_string(), "2001:db8::1");
        assert_eq!(handout.next(false), chosen);
        assert_eq!(handout.next(false).to_string(), "198.51.100.1");
    }
}
