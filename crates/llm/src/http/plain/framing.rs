//! Where the body of an answer ends, and what of it is its bytes.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};

use super::nonsense;

/// How long a line between chunks may be, and all that follows the last one.
const LONGEST: usize = 64 * 1024;

/// What is still to come of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes.
    Counted(u64),
    /// Chunks, each with its length before it.
    Chunked(Chunk),
    /// Whatever comes until the connection is closed.
    Open,
}

/// Where in the chunks we are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// Before the length of one.
    Size,
    /// In one, of which so much is to come.
    Data(u64),
    /// Behind one.
    End,
    /// Behind the last one, and so many bytes of what follows it.
    Trailers(usize),
    Over,
}

/// What there is of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Bytes(Bytes),
    /// Nothing before more has come.
    More,
    Over,
}

impl Framing {
    /// Of an answer to a POST with this head.
    ///
    /// # Errors
    /// If it says its length and that makes no sense.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> io::Result<Self> {
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Ok(Self::Counted(0));
        }
        if let Some(last) = headers.get_all(header::TRANSFER_ENCODING).iter().next_back() {
            let last = last.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
            let is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            return Ok(if is_chunked { Self::Chunked(Chunk::Size) } else { Self::Open });
        }
        let mut length = None;
        for said in headers.get_all(header::CONTENT_LENGTH) {
            // A sign is a number for the parser, and none here.
            let said = said.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let said: u64 = said.and_then(|text| text.parse().ok()).ok_or_else(|| nonsense("its length"))?;
            if length.replace(said).is_some_and(|before| before != said) {
                return Err(nonsense("its length"));
            }
        }
        Ok(length.map_or(Self::Open, Self::Counted))
    }

    /// The next of what has come.
    ///
    /// # Errors
    /// If that is no body.
    pub(super) fn step(&mut self, come: &mut BytesMut) -> io::Result<Step> {
        self.settle(come)?;
        let left = match self {
            Self::Counted(0) | Self::Chunked(Chunk::Over) => return Ok(Step::Over),
            _ if come.is_empty() => return Ok(Step::More),
            Self::Open => return Ok(Step::Bytes(come.split().freeze())),
            Self::Counted(left) | Self::Chunked(Chunk::Data(left)) => left,
            Self::Chunked(_) => return Ok(Step::More),
        };
        let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(come.len());
        *left -= taken as u64;
        let bytes = come.split_to(taken).freeze();
        if let Self::Chunked(chunk @ Chunk::Data(0)) = self {
            *chunk = Chunk::End;
        }
        Ok(Step::Bytes(bytes))
    }

    /// Takes what is not the body's from what has come, up to its next byte.
    ///
    /// # Errors
    /// If it is not what should be there.
    pub(super) fn settle(&mut self, come: &mut BytesMut) -> io::Result<()> {
        let Self::Chunked(chunk) = self else { return Ok(()) };
        loop {
            match chunk {
                Chunk::Data(_) | Chunk::Over => return Ok(()),
                // The parser takes a line without a number for a zero, and so for the last chunk.
                Chunk::Size if come.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                    return Err(nonsense("the length of a chunk"));
                }
                Chunk::Size => match httparse::parse_chunk_size(come) {
                    Ok(httparse::Status::Complete((line, size))) => {
                        come.advance(line);
                        *chunk = if size == 0 { Chunk::Trailers(0) } else { Chunk::Data(size) };
                    }
                    Ok(httparse::Status::Partial) if come.len() <= LONGEST => return Ok(()),
                    Ok(httparse::Status::Partial) | Err(_) => return Err(nonsense("the length of a chunk")),
                },
                Chunk::End => {
                    if come.len() < 2 {
                        return Ok(());
                    }
                    if !come.starts_with(b"\r\n") {
                        return Err(nonsense("the end of a chunk"));
                    }
                    come.advance(2);
                    *chunk = Chunk::Size;
                }
                Chunk::Trailers(seen) => {
                    let line = come.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
                    if *seen + line.unwrap_or(come.len()) > LONGEST {
                        return Err(nonsense("what follows its chunks"));
                    }
                    let Some(line) = line else { return Ok(()) };
                    let is_last = come.get(..line).is_some_and(|line| line.trim_ascii().is_empty());
                    come.advance(line);
                    *chunk = if is_last { Chunk::Over } else { Chunk::Trailers(*seen + line) };
                }
            }
        }
    }

    /// Whether nothing is to come.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Counted(0) | Self::Chunked(Chunk::Over))
    }

    /// Whether it may end with the connection.
    pub(super) fn may_end(&self) -> bool {
        self.is_over() || *self == Self::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn framing(status: u16, headers: &[(&'static str, &'static str)]) -> io::Result<Framing> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut all = HeaderMap::new();
        headers.for_each(|(name, value)| {
            all.append(name, value);
        });
        Framing::of(StatusCode::from_u16(status).unwrap(), &all)
    }

    #[test]
    fn what_a_head_says_of_its_body() {
        let check = |status, headers: &[_], expected| {
            assert_eq!(framing(status, headers).ok(), expected, "{headers:?}");
        };
        let chunked = || Some(Framing::Chunked(Chunk::Size));
        check(200, &[], Some(Framing::Open));
        check(204, &[("content-length", "7")], Some(Framing::Counted(0)));
        check(200, &[("content-length", "7")], Some(Framing::Counted(7)));
        check(200, &[("content-length", "7"), ("content-length", "7")], Some(Framing::Counted(7)));
        check(200, &[("content-length", "7"), ("content-length", "8")], None);
        for said in ["+7", "-7", "7, 7", "0x7", "99999999999999999999"] {
            check(200, &[("content-length", said)], None);
        }
        check(200, &[("transfer-encoding", "chunked")], chunked());
        check(200, &[("transfer-encoding", "gzip, Chunked"), ("content-length", "7")], chunked());
        check(200, &[("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")], chunked());
        check(200, &[("transfer-encoding", "chunked, gzip")], Some(Framing::Open));
    }

    /// What is read of bytes that come in these pieces, and whether that was all.
    fn read(mut framing: Framing, pieces: &[&[u8]]) -> io::Result<(Vec<u8>, bool, Vec<u8>)> {
        let (mut come, mut read) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            come.extend_from_slice(piece);
            while let Step::Bytes(bytes) = framing.step(&mut come)? {
                assert!(!bytes.is_empty());
                read.extend_from_slice(&bytes);
            }
        }
        Ok((read, framing.is_over(), come.to_vec()))
    }

    #[test]
    fn chunks_are_put_together_wherever_they_are_cut() {
        let whole = b"5\r\nhello\r\n1;a=\"b\"\r\n \r\n0A\r\nworld12345\r\n0\r\nx-trailer: 1\r\n\r\nHTTP";
        for cut in 0..=whole.len() {
            let (one, other) = whole.split_at(cut);
            let (bytes, is_over, rest) = read(Framing::Chunked(Chunk::Size), &[one, other]).unwrap();
            assert_eq!((&bytes[..], is_over, &rest[..]), (&b"hello world12345"[..], true, &b"HTTP"[..]));
        }
        let single: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(read(Framing::Chunked(Chunk::Size), &single).unwrap().0, b"hello world12345");
        let (bytes, is_over, _) = read(Framing::Chunked(Chunk::Size), &[&whole[..20]]).unwrap();
        assert_eq!((&bytes[..], is_over), (&b"hello "[..], false));
    }

    #[test]
    fn the_end_is_known_with_the_last_byte() {
        let mut come = BytesMut::from(&b"2\r\nhi\r\n0\r\n\r\n"[..]);
        let mut framing = Framing::Chunked(Chunk::Size);
        assert_eq!(framing.step(&mut come).unwrap(), Step::Bytes(Bytes::from_static(b"hi")));
        framing.settle(&mut come).unwrap();
        assert!(framing.is_over() && come.is_empty());
        let (bytes, is_over, rest) = read(Framing::Counted(3), &[b"ab", b"cd"]).unwrap();
        assert_eq!((&bytes[..], is_over, &rest[..]), (&b"abc"[..], true, &b"d"[..]));
        let (bytes, is_over, _) = read(Framing::Open, &[b"ab", b"", b"c"]).unwrap();
        assert_eq!((&bytes[..], is_over), (&b"abc"[..], false));
    }

    #[test]
    fn what_is_no_body_is_refused_and_nothing_is_kept_without_end() {
        for nonsense in ["x\r\n", "2\r\nhello\r\n", "-1\r\n", "fffffffffffffffff\r\n", "2\r\nhi\n\r\n"] {
            read(Framing::Chunked(Chunk::Size), &[nonsense.as_bytes()]).expect_err(nonsense);
        }
        for unsaid in ["\r\n\r\n", " \r\n\r\n", ";x\r\n\r\n", "2\r\nhi\r\n\r\n\r\n"] {
            read(Framing::Chunked(Chunk::Size), &[unsaid.as_bytes()]).expect_err(unsaid);
        }
        let long = vec![b'a'; LONGEST + 1];
        read(Framing::Chunked(Chunk::Size), &[b"1;", &long]).expect_err("an extension");
        read(Framing::Chunked(Chunk::Size), &[b"0\r\n", &long]).expect_err("a trailer");
        let trailers = vec![&b"x: y\r\n"[..]; LONGEST / 6 + 1].concat();
        read(Framing::Chunked(Chunk::Size), &[b"0\r\n", &trailers]).expect_err("trailers");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut written = Vec::new();
            for chunk in &chunks {
                written.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                written.extend_from_slice(chunk);
                written.extend_from_slice(b"\r\n");
            }
            written.extend_from_slice(b"0\r\n\r\n");
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(written.len())).collect();
            cuts.extend([0, written.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &written[cut[0]..cut[1]]).collect();
            let (bytes, is_over, rest) = read(Framing::Chunked(Chunk::Size), &pieces).unwrap();
            prop_assert_eq!(bytes, chunks.concat());
            prop_assert!(is_over && rest.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(Framing::Chunked(Chunk::Size), &[&bytes]);
        }
    }
}
