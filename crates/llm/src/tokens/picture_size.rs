//! How large a picture is, from its first bytes.

/// Width and height of a PNG, JPEG, GIF or WebP picture.
pub fn of(data: &[u8]) -> Option<(u32, u32)> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some((big(data, 16, 4)?, big(data, 20, 4)?)),
        [b'G', b'I', b'F', ..] => Some((little(data, 6, 2)?, little(data, 8, 2)?)),
        [b'R', b'I', b'F', b'F', ..] => webp(data),
        [0xff, 0xd8, ..] => jpeg(data),
        _ => None,
    }
}

fn big(data: &[u8], at: usize, width: usize) -> Option<u32> {
    Some(data.get(at..at + width)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn little(data: &[u8], at: usize, width: usize) -> Option<u32> {
    Some(data.get(at..at + width)?.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn webp(data: &[u8]) -> Option<(u32, u32)> {
    match data.get(12..16)? {
        b"VP8X" => Some((little(data, 24, 3)? + 1, little(data, 27, 3)? + 1)),
        b"VP8 " => Some((little(data, 26, 2)? & 0x3fff, little(data, 28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(data, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// Goes from segment to segment, up to the one that begins the picture.
fn jpeg(data: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *data.get(at + 1).filter(|_| data.get(at) == Some(&0xff))?;
        match marker {
            0xff => at += 1,
            // All frames but for those that are tables under a like number.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(data, at + 7, 2)?, big(data, at + 5, 2)?));
            }
            _ => at += 2 + usize::try_from(big(data, at + 2, 2)?).ok()?.max(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |data: &[u8], expected: Option<(u32, u32)>| assert_eq!(of(data), expected, "{data:?}");
        check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\x20\0\0\x02\x58", Some((800, 600)));
        check(b"GIF89a\x20\x03\x58\x02", Some((800, 600)));
        check(b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\x02\x58\x03\x20", Some((800, 600)));
        check(b"RIFF....WEBPVP8X....\0\0\0\0\x1f\x03\0\x57\x02\0", Some((800, 600)));
        check(b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x20\x03\x58\x02", Some((800, 600)));
        check(b"RIFF....WEBPVP8L....\x2f\x1f\xc3\x95\x00", Some((800, 600)));
        for broken in [b"".as_slice(), b"\xff\xd8", b"\xff\xd8\xff\xe0\0\0", b"RIFF", b"\x89PNG", b"text"] {
            check(broken, None);
        }
    }
}
