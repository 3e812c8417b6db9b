//! From bytes to text, and back to the same bytes.

use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::EncoderResult;

use super::Fidelity;

/// How much of a file in an unknown encoding is weighed.
const WEIGHED: usize = 1 << 20;

/// How a text is written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// An older one, which has only some characters.
    Legacy(Legacy),
}

/// One of the encodings from before Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legacy(&'static encoding_rs::Encoding);

impl Encoding {
    /// Those that have a byte order mark.
    const MARKED: [Self; 3] = [Self::Utf8, Self::Utf16Le, Self::Utf16Be];

    /// Its usual name, such as `windows-1252`.
    pub fn name(self) -> &'static str {
        self.table().name()
    }

    /// Whether it has every character.
    pub fn is_unicode(self) -> bool {
        !matches!(self, Self::Legacy(_))
    }

    fn table(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::Utf8 => encoding_rs::UTF_8,
            Self::Utf16Le => encoding_rs::UTF_16LE,
            Self::Utf16Be => encoding_rs::UTF_16BE,
            Self::Legacy(Legacy(table)) => table,
        }
    }

    /// The byte order mark.
    pub(super) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
            Self::Legacy(_) => b"",
        }
    }

    /// The encoding whose mark a file begins with.
    pub(crate) fn of_mark(content: &[u8]) -> Option<Self> {
        Self::MARKED.into_iter().find(|encoding| content.starts_with(encoding.mark()))
    }

    /// Which UTF-16 a file without a mark is in: the one in which every other byte of most characters
    /// is zero, no byte of the other half is, and which has no control characters that no text has.
    pub(crate) fn of_wide(content: &[u8]) -> Option<Self> {
        let (pairs, []) = content.as_chunks::<2>() else { return None };
        let zeros = |half: usize| pairs.iter().filter(|pair| pair[half] == 0).count();
        let (encoding, narrow) = match (zeros(0), zeros(1)) {
            (0, low) => (Self::Utf16Le, low),
            (high, 0) => (Self::Utf16Be, high),
            _ => return None,
        };
        let plain = |pair: &[u8; 2]| {
            let unit =
                if encoding == Self::Utf16Le { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
            !matches!(unit, 0..=7 | 0x0b | 0x0e..=0x19 | 0x1c..=0x1f | 0x7f)
        };
        (narrow > 0 && narrow * 2 > pairs.len() && pairs.iter().all(plain)).then_some(encoding)
    }

    /// The bytes of a text, without a mark, or the place in the text of the first character that the
    /// encoding does not have.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, usize> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(Legacy(table)) => encode_legacy(table, text),
        }
    }
}

fn encode_legacy(encoding: &'static encoding_rs::Encoding, text: &str) -> Result<Vec<u8>, usize> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(text.len());
    let mut done = 0;
    loop {
        let rest = &text[done..];
        let needed = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(needed.unwrap_or(rest.len()));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        done += read;
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => {}
            // The character was read already.
            EncoderResult::Unmappable(character) => return Err(done - character.len_utf8()),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What became of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) text: String,
    pub(super) encoding: Encoding,
    pub(super) marked: bool,
    pub(super) fidelity: Fidelity,
}

/// Makes text of bytes that are some. What cannot be read is shown as U+FFFD.
pub(super) fn decode(bytes: Vec<u8>) -> Decoded {
    if let Some(encoding) = Encoding::of_mark(&bytes) {
        return decode_as(encoding, &bytes[encoding.mark().len()..], true);
    }
    if let Some(encoding) = bytes.contains(&0).then(|| Encoding::of_wide(&bytes)).flatten() {
        return decode_as(encoding, &bytes, false);
    }
    let (bytes, valid) = match String::from_utf8(bytes) {
        Ok(text) => {
            return Decoded { text, encoding: Encoding::Utf8, marked: false, fidelity: Fidelity::Exact };
        }
        Err(e) => {
            let valid = e.utf8_error().valid_up_to();
            (e.into_bytes(), valid)
        }
    };
    guess(&bytes, valid)
        .filter(|_| !is_damaged_utf8(&bytes))
        .map(|encoding| decode_as(encoding, &bytes, false))
        .filter(|decoded| !matches!(decoded.fidelity, Fidelity::Lossy { .. }) && is_plausible(&decoded.text))
        .unwrap_or_else(|| decode_as(Encoding::Utf8, &bytes, false))
}

fn decode_as(encoding: Encoding, bytes: &[u8], marked: bool) -> Decoded {
    let (text, had_errors) = encoding.table().decode_without_bom_handling(bytes);
    let text = text.into_owned();
    let fidelity = if had_errors {
        Fidelity::Lossy { line: 1 + text.find('\u{fffd}').map_or(0, |at| super::line_ends(&text[..at])) }
    } else if encoding.is_unicode() || encoding.encode(&text).as_deref() == Ok(bytes) {
        Fidelity::Exact
    } else {
        Fidelity::Ambiguous
    };
    Decoded { text, encoding, marked, fidelity }
}

/// The encoding that bytes from the first that is no UTF-8 are most likely in.
fn guess(bytes: &[u8], from: usize) -> Option<Encoding> {
    let rest = bytes.get(from..)?;
    let weighed = rest.get(..WEIGHED).unwrap_or(rest);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(weighed, weighed.len() == rest.len());
    Some(Encoding::Legacy(Legacy(detector.guess(None, Utf8Detection::Deny))))
}

/// Whether more characters are right in UTF-8 than are wrong, as chance does not make them.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        right += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        wrong += usize::from(!chunk.invalid().is_empty());
    }
    right > wrong
}

/// Whether a text has none of the control characters that stand for bytes without a meaning.
fn is_plausible(text: &str) -> bool {
    !text.contains(|character| matches!(character, '\u{80}'..='\u{9f}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes, and sees that what is said to be exact is.
    #[track_caller]
    fn check(bytes: &[u8], text: &str, encoding: &str, fidelity: Fidelity) {
        let decoded = decode(bytes.to_vec());
        let found = (decoded.text.as_str(), decoded.encoding.name(), decoded.fidelity);
        assert_eq!(found, (text, encoding, fidelity), "{bytes:x?}");
        if fidelity == Fidelity::Exact {
            assert_eq!(again(&decoded), bytes, "{text:?}");
        }
    }

    fn again(decoded: &Decoded) -> Vec<u8> {
        let mark = if decoded.marked { decoded.encoding.mark() } else { b"" };
        [mark, &decoded.encoding.encode(&decoded.text).unwrap()].concat()
    }

    fn legacy(label: &str, text: &str) -> Vec<u8> {
        let (bytes, _, failed) = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(text);
        assert!(!failed);
        bytes.into_owned()
    }

    #[test]
    fn unicode() {
        for (bytes, text, encoding) in [
            (&b""[..], "", "UTF-8"),
            ("naïve 🦀".as_bytes(), "naïve 🦀", "UTF-8"),
            (b"\xef\xbb\xbfx", "x", "UTF-8"),
            (b"\xef\xbb\xbf\xef\xbb\xbfx", "\u{feff}x", "UTF-8"),
            (b"a\0b", "a\0b", "UTF-8"),
            (b"\xff\xfea\0\xe9\0\x3d\xd8\x80\xde", "aé🚀", "UTF-16LE"),
            (b"\xfe\xff\0a\0\xe9", "aé", "UTF-16BE"),
            (b"\xff\xfe", "", "UTF-16LE"),
            (b"h\0i\0\r\0\n\0", "hi\r\n", "UTF-16LE"),
            (b"\0h\0i\0\n", "hi\n", "UTF-16BE"),
        ] {
            check(bytes, text, encoding, Fidelity::Exact);
        }
    }

    #[test]
    fn encodings_from_before() {
        for (label, text) in [
            ("windows-1252", "Der Bär möchte größere Äpfel – für „Jürgen“, bitte schön.\r\n"),
            ("windows-1251", "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"),
            ("shift_jis", "これは日本語の文章です。ファイルを読みます。\n"),
            ("euc-kr", "이것은 한국어 문장입니다. 파일을 읽습니다.\n"),
            ("gbk", "这是一个中文句子。我们读取文件。\n"),
            ("big5", "這是一個中文句子。我們讀取檔案。\n"),
        ] {
            let name = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().name();
            check(&legacy(label, text), text, name, Fidelity::Exact);
        }
    }

    #[test]
    fn what_is_no_encoding_is_shown_and_said() {
        for (bytes, text, encoding, line) in [
            // More of it is right than wrong.
            (&b"\xc3\xa9\n\xc3\xa9 \xc3\n"[..], "é\né \u{fffd}\n", "UTF-8", 2),
            // Bytes that no encoding of one byte for each character uses.
            (b"a\nb\n\x81\n", "a\nb\n\u{fffd}\n", "UTF-8", 3),
            (b"\xef\xbb\xbfa\xff", "a\u{fffd}", "UTF-8", 1),
            // Half a pair, and half a character.
            (b"\xff\xfea\0\x3d\xd8b\0", "a\u{fffd}b", "UTF-16LE", 1),
            (b"\xff\xfea\0b", "a\u{fffd}", "UTF-16LE", 1),
        ] {
            check(bytes, text, encoding, Fidelity::Lossy { line });
        }
    }

    #[test]
    fn two_spellings_of_a_character_are_noticed() {
        // Of the ways to write this character only one is written.
        let text = "これは日本語の文章です。ファイルを読みます。∵\n";
        let mut bytes = legacy("shift_jis", text);
        let at = bytes.windows(2).position(|pair| pair == [0x81, 0xe6]).unwrap();
        bytes.splice(at..at + 2, [0x87, 0x9a]);
        check(&bytes, text, "Shift_JIS", Fidelity::Ambiguous);
    }

    #[test]
    fn a_character_that_is_missing_is_found() {
        let encoding = Encoding::Legacy(Legacy(encoding_rs::WINDOWS_1252));
        assert_eq!(encoding.encode("é\n🦀 é"), Err(3));
        assert_eq!(encoding.encode("é"), Ok(vec![0xe9]));
        // A table that has it may need many bytes for it.
        let encoding = Encoding::Legacy(Legacy(encoding_rs::GB18030));
        assert_eq!(encoding.encode("🦀").unwrap().len(), 4);
    }

    proptest! {
        #[test]
        fn whatever_is_called_exact_is(bytes: Vec<u8>) {
            let decoded = decode(bytes.clone());
            if decoded.fidelity == Fidelity::Exact {
                prop_assert_eq!(again(&decoded), bytes);
            }
        }

        #[test]
        fn every_text_is_itself_in_unicode(text: String) {
            for encoding in Encoding::MARKED {
                let bytes = [encoding.mark(), &encoding.encode(&text).unwrap()].concat();
                let expected = Decoded { text: text.clone(), encoding, marked: true, fidelity: Fidelity::Exact };
                prop_assert_eq!(decode(bytes), expected);
            }
        }
    }
}
