//! UIDs and generated names, from a seeded source.

/// Alphabet of the server's generated names: no vowels, no characters that look alike.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A seeded source.
#[derive(Debug)]
pub(crate) struct Ids(fastrand::Rng);

impl Ids {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&mut self) -> String {
        let bits = self.0.u128(..);
        let bits = bits & !(0xf000 << 64) | (0x4000 << 64);
        let bits = bits & !(0xc000 << 48) | (0x8000 << 48);
        let hex = format!("{bits:032x}");
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        format!("{a}-{b}-{c}-{d}-{e}")
    }

    /// Name for a `generateName`: the base, cut to 58 characters, and 5 random characters.
    pub(crate) fn name(&mut self, base: &str) -> String {
        let base: String = base.chars().take(58).collect();
        let suffix = (0..5).map(|_| char::from(LETTERS[self.0.usize(..LETTERS.len())]));
        base.chars().chain(suffix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_ids_and_they_look_like_the_servers() {
        let (mut a, mut b) = (Ids::seeded(3), Ids::seeded(3));
        let uid = a.uid();
        assert_eq!(uid, b.uid());
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!(matches!(&uid[19..20], "8" | "9" | "a" | "b"));
        let name = a.name("x-");
        assert_eq!((name.len(), name), (7, b.name("x-")));
        assert_eq!(a.name(&"l".repeat(80)).len(), 63);
    }
}
