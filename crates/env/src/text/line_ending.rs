//! How lines end.

use std::borrow::Cow;

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnding {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A carriage return alone.
    Cr,
}

impl LineEnding {
    /// How most lines of a text end; a line feed if none does.
    pub fn of(text: &str) -> Self {
        let (mut lf, mut crlf, mut cr) = (0_usize, 0_usize, 0_usize);
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\n' => lf += 1,
                b'\r' if bytes.next_if_eq(&b'\n').is_some() => crlf += 1,
                b'\r' => cr += 1,
                _ => {}
            }
        }
        if crlf > lf && crlf >= cr {
            Self::CrLf
        } else if cr > lf {
            Self::Cr
        } else {
            Self::Lf
        }
    }

    /// The characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// A text whose lines all end like this, whichever way they did.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let plain = if text.contains('\r') {
            Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
        } else {
            Cow::Borrowed(text)
        };
        if self == Self::Lf {
            return plain;
        }
        Cow::Owned(plain.replace('\n', self.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_end_is_the_files() {
        for (text, expected) in [
            ("", LineEnding::Lf),
            ("a", LineEnding::Lf),
            ("a\nb\n", LineEnding::Lf),
            ("a\r\nb\r\n", LineEnding::CrLf),
            ("a\r\nb\r\nc\n", LineEnding::CrLf),
            ("a\r\nb\n", LineEnding::Lf),
            ("a\rb\r", LineEnding::Cr),
            ("a\r\r\n", LineEnding::CrLf),
            ("a\rb\rc\r\n", LineEnding::Cr),
        ] {
            assert_eq!(LineEnding::of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_takes_the_ends_of_another() {
        for (ending, expected) in [
            (LineEnding::Lf, "a\nb\n\nc"),
            (LineEnding::CrLf, "a\r\nb\r\n\r\nc"),
            (LineEnding::Cr, "a\rb\r\rc"),
        ] {
            for text in ["a\nb\n\nc", "a\r\nb\r\n\r\nc", "a\rb\r\rc", "a\r\nb\n\rc"] {
                assert_eq!(ending.apply(text), expected, "{text:?}");
            }
        }
        assert!(matches!(LineEnding::Lf.apply("a\nb"), Cow::Borrowed(_)));
    }
}
