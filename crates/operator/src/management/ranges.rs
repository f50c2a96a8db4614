//! The addresses of a VIP pool.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

/// Addresses as ranges of numbers, sorted, without overlaps. All addresses have one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    six: bool,
    ranges: Vec<(u128, u128)>,
}

impl Ranges {
    /// The addresses that a VIP pool hands out: those listed, without the gateway, the excluded ones,
    /// and the first and the last address of the network. Unreadable entries are left out.
    pub fn of_pool(spec: &Value) -> Self {
        let texts = |field: &str| {
            let list = spec[field].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).filter_map(parse).collect::<Vec<_>>()
        };
        let listed = texts("addresses");
        let Some((first, _)) = listed.first() else { return Self::default() };
        let six = first.is_ipv6();
        let mut excluded = texts("excludedAddresses");
        excluded.extend(spec["gateway"].as_str().and_then(parse));
        if spec["allocateReservedIPAddresses"] != true {
            let prefix = spec["prefix"].as_u64().and_then(|prefix| u32::try_from(prefix).ok());
            excluded.extend(prefix.into_iter().flat_map(|prefix| reserved(*first, prefix)));
        }
        let numbers = |(first, last): &(IpAddr, IpAddr)| (number(*first), number(*last));
        let mut ranges = merged(listed.iter().map(numbers).collect());
        for hole in excluded.iter().filter(|(first, _)| first.is_ipv6() == six).map(numbers) {
            ranges = ranges.into_iter().flat_map(|range| without(range, hole)).collect();
        }
        Self { six, ranges }
    }

    /// The number of addresses.
    pub fn total(&self) -> i64 {
        let size = |(first, last): &(u128, u128)| {
            i64::try_from(last - first).unwrap_or(i64::MAX).saturating_add(1)
        };
        self.ranges.iter().map(size).fold(0, i64::saturating_add)
    }

    /// The smallest address that is not in use.
    pub fn first_free(&self, used: &BTreeSet<IpAddr>) -> Option<IpAddr> {
        let all = self.ranges.iter().flat_map(|(first, last)| *first..=*last);
        all.map(|number| self.address(number)).find(|ip| !used.contains(ip))
    }

    fn address(&self, number: u128) -> IpAddr {
        match self.six {
            true => Ipv6Addr::from(number).into(),
            false => Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        }
    }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// An address, a range `first-last`, or a network `address/prefix`.
fn parse(text: &str) -> Option<(IpAddr, IpAddr)> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last): (IpAddr, IpAddr) =
            (first.trim().parse().ok()?, last.trim().parse().ok()?);
        return (first.is_ipv6() == last.is_ipv6() && first <= last).then_some((first, last));
    }
    match text.split_once('/') {
        Some((ip, prefix)) => network(ip.parse().ok()?, prefix.parse().ok()?),
        None => text.trim().parse().ok().map(|ip| (ip, ip)),
    }
}

/// The first and the last address of the network of an address.
fn network(ip: IpAddr, prefix: u32) -> Option<(IpAddr, IpAddr)> {
    Some(match ip {
        IpAddr::V4(ip) => {
            let hosts = u32::MAX.checked_shr(prefix).unwrap_or(0);
            let first = u32::from(ip) & !hosts;
            (prefix <= 32)
                .then(|| (Ipv4Addr::from(first).into(), Ipv4Addr::from(first | hosts).into()))?
        }
        IpAddr::V6(ip) => {
            let hosts = u128::MAX.checked_shr(prefix).unwrap_or(0);
            let first = u128::from(ip) & !hosts;
            (prefix <= 128)
                .then(|| (Ipv6Addr::from(first).into(), Ipv6Addr::from(first | hosts).into()))?
        }
    })
}

/// Addresses of a network that are for the network itself.
fn reserved(ip: IpAddr, prefix: u32) -> Vec<(IpAddr, IpAddr)> {
    let (most, last_too) = if ip.is_ipv6() { (126, false) } else { (30, true) };
    match network(ip, prefix).filter(|_| prefix <= most) {
        Some((first, last)) if last_too => vec![(first, first), (last, last)],
        Some((first, _)) => vec![(first, first)],
        None => Vec::new(),
    }
}

fn merged(mut ranges: Vec<(u128, u128)>) -> Vec<(u128, u128)> {
    ranges.sort_unstable();
    let mut all: Vec<(u128, u128)> = Vec::new();
    for (first, last) in ranges {
        match all.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => all.push((first, last)),
        }
    }
    all
}

/// A range without the addresses of another range.
fn without(range: (u128, u128), hole: (u128, u128)) -> Vec<(u128, u128)> {
    if hole.1 < range.0 || range.1 < hole.0 {
        return vec![range];
    }
    let before = hole.0.checked_sub(1).map(|last| (range.0, last));
    let after = hole.1.checked_add(1).map(|first| (first, range.1));
    before.into_iter().chain(after).filter(|(first, last)| first <= last).collect()
}
