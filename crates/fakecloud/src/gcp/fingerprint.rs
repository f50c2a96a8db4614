//! Fingerprints: a change of the content changes them.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The fingerprint of a content: eight bytes of FNV-1a in base 64.
pub(super) fn of(content: &str) -> String {
    let hash = content.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Eight bytes are ten digits of six bits and four bits, which begin an eleventh digit.
    let digit = |at: u32| {
        let bits = if at < 10 { hash >> (58 - 6 * at) } else { hash << 2 };
        char::from(ALPHABET[(bits & 63) as usize])
    };
    (0..11).map(digit).chain(['=']).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_fingerprint_is_base_64_and_follows_the_content() {
        // The empty content has the offset basis, cbf29ce484222325.
        assert_eq!(super::of(""), "y/Kc5IQiIyU=");
        assert_ne!(super::of("a"), super::of("b"));
    }
}
