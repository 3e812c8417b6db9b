//! Bytes as hexadecimal digits.

use std::fmt::Write as _;

/// Two digits for each byte.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // To write to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
