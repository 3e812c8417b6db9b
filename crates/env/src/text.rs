//! Text files: read as text, and written back the way they were.
//!
//! [`TextFile::read`] reads a file of any environment, within a limit, and says what it is. A text
//! comes without its byte order mark and with its line ends as they are; what is needed to write it
//! back is remembered beside it. A file is written back only if every byte outside the change stays
//! as it was.
//!
//! ```
//! # async fn example(env: &dyn junto_env::ExecutionEnvironment) -> junto_env::Result<()> {
//! use junto_env::text::{Content, TextFile};
//!
//! let path = env.resolve("Cargo.toml").await?;
//! if let Content::Text(file) = TextFile::read(env, &path, 1 << 20).await? {
//!     file.write_back(env, &file.text.replace("0.1.0", "0.2.0")).await?;
//! }
//! # Ok(())
//! # }
//! ```

mod encoding;
mod line_ending;

use tokio::io::AsyncReadExt as _;

pub use self::encoding::{Encoding, Legacy};
pub use self::line_ending::LineEnding;
use crate::kind::{HEAD, Kind};
use crate::{ByteRange, Error, ErrorKind, ExecutionEnvironment, Expect, RealPath, Result, Stamp};

/// What a file is, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(TextFile),
    /// A picture.
    Image {
        /// Its media type, such as `image/png`.
        media_type: &'static str,
        /// The file.
        bytes: Vec<u8>,
    },
    /// Neither: nothing to read.
    Binary {
        /// A name for people, such as `an ELF file`.
        what: &'static str,
        /// Its bytes, as far as is known: some files do not say how long they are.
        size: u64,
    },
    /// A text or picture above the limit.
    TooLarge {
        /// What its beginning says it is.
        kind: Kind,
        /// Its bytes, as far as is known: some files do not say how long they are.
        size: u64,
    },
}

/// A text file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Where it is.
    pub path: RealPath,
    /// The text, without a byte order mark, with its line ends as they are.
    pub text: String,
    /// How it is written.
    pub format: Format,
    /// What the file was like when it was read, for [`Expect::Unchanged`].
    pub stamp: Stamp,
    /// Whether the text stands for all of the file.
    pub fidelity: Fidelity,
}

/// How a text is written in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The encoding.
    pub encoding: Encoding,
    /// Whether the file begins with a byte order mark.
    pub byte_order_mark: bool,
    /// How most lines end.
    pub line_ending: LineEnding,
}

/// Whether a text stands for all the bytes it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Written back, it gives the same bytes.
    Exact,
    /// Some bytes are nothing in the encoding and shown as U+FFFD.
    Lossy {
        /// The first line that has them, counted from 1.
        line: usize,
    },
    /// Every byte was understood, but some characters are written in a way in which the encoding
    /// would not write them again.
    Ambiguous,
}

impl TextFile {
    /// Reads a file of at most `limit` bytes and says what it is. Of a longer one only the beginning
    /// is read; memory is bounded by a few times the limit.
    ///
    /// # Errors
    /// What the environment says: there is no such file, it is a directory or a device, it may not be
    /// read.
    pub async fn read(env: &dyn ExecutionEnvironment, path: &RealPath, limit: u64) -> Result<Content> {
        // The stamp comes first: if the file changes before it is read, writing it back is refused.
        let stamp = env
            .stamp(path)
            .await?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, path, "there is no such file"))?;
        // Some files, as those in /proc, say that they are empty and are not.
        let wanted = if stamp.size > limit { HEAD as u64 } else { limit.saturating_add(1) };
        let mut reader = env.open(path, ByteRange { start: 0, length: Some(wanted) }).await?;
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size.min(wanted)).unwrap_or(HEAD));
        reader.read_to_end(&mut bytes).await.map_err(|e| Error::io(path, e))?;
        let size = stamp.size.max(bytes.len() as u64);
        Ok(match Kind::of(&bytes) {
            Kind::Binary(what) => Content::Binary { what, size },
            kind if size > limit => Content::TooLarge { kind, size },
            Kind::Image(media_type) => Content::Image { media_type, bytes },
            Kind::Text => Content::Text(Self::decode(path.clone(), bytes, stamp)),
        })
    }

    fn decode(path: RealPath, bytes: Vec<u8>, stamp: Stamp) -> Self {
        let encoding::Decoded { text, encoding, marked, fidelity } = encoding::decode(bytes);
        let line_ending = LineEnding::of(&text);
        let format = Format { encoding, byte_order_mark: marked, line_ending };
        Self { path, text, format, stamp, fidelity }
    }

    /// What a reader should know of how the text was read, as a sentence; absent if there is nothing.
    pub fn caveat(&self) -> Option<String> {
        let encoding = self.format.encoding;
        match self.fidelity {
            Fidelity::Lossy { line } => Some(format!(
                "The file is not valid {encoding}: bytes that could not be read are shown as U+FFFD, \
                 first in line {line}."
            )),
            _ if encoding.is_unicode() => None,
            _ => Some(format!("The file is not UTF-8; it was read as {encoding}, which is a guess.")),
        }
    }

    /// The bytes of a file that has this text and is written as this one is. The text's line ends
    /// stay as they are given; [`LineEnding::apply`] changes them.
    ///
    /// # Errors
    /// `Encoding`, if not every byte of this file was understood, so that the rest of it would be
    /// damaged, or if its encoding does not have a character of the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>> {
        let Format { encoding, byte_order_mark, .. } = self.format;
        let refuse = |message| Err(Error::new(ErrorKind::Encoding, &self.path, message));
        match self.fidelity {
            Fidelity::Exact => {}
            Fidelity::Lossy { line } => {
                return refuse(format!(
                    "it is not valid {encoding} (first in line {line}); changing it would destroy the bytes \
                     that cannot be read as text"
                ));
            }
            Fidelity::Ambiguous => {
                return refuse(format!(
                    "it spells characters in a way that {encoding} does not write; changing it would change \
                     parts of it that are not meant"
                ));
            }
        }
        let body = match encoding.encode(text) {
            Ok(body) => body,
            Err(at) => {
                let character = text[at..].chars().next().unwrap_or('\u{fffd}');
                return refuse(format!(
                    "its encoding, {encoding}, does not have the character {character:?} (U+{:04X}) that line \
                     {} of the new text has",
                    u32::from(character),
                    1 + line_ends(&text[..at]),
                ));
            }
        };
        if !byte_order_mark {
            return Ok(body);
        }
        Ok([encoding.mark(), &body].concat())
    }

    /// Writes a new text in the place of this one, the way the file is written, if nobody has changed
    /// the file since it was read.
    ///
    /// # Errors
    /// As [`encode`](Self::encode); `Changed`; and what the environment says.
    pub async fn write_back(&self, env: &dyn ExecutionEnvironment, text: &str) -> Result<Stamp> {
        let bytes = self.encode(text)?;
        env.write(&self.path, &bytes, Expect::Unchanged(self.stamp)).await
    }
}

/// How many lines end in a text.
fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
