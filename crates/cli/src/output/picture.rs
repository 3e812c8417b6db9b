//! Pictures on terminals that can show them.

use std::fmt::Write as _;
use std::path::Path;

use junto::llm::Media;

use crate::environment::Environment;

/// The largest file that is shown.
const LARGEST: u64 = 8 * 1024 * 1024;
/// How much of a picture one sequence of kitty's protocol may carry.
const CHUNK: usize = 4096;

/// How a terminal is told to show a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// That of kitty and ghostty: PNG only.
    Kitty,
    /// That of `iTerm` and `WezTerm`.
    Iterm,
}

impl Protocol {
    /// The one that the terminal understands, as far as its variables tell. Within a multiplexer none: it would swallow
    /// or spoil them.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        if environment.get("TMUX").is_some() || environment.get("STY").is_some() {
            return None;
        }
        let term = environment.get("TERM").unwrap_or_default();
        let program = environment.get("TERM_PROGRAM").unwrap_or_default();
        if environment.get("KITTY_WINDOW_ID").is_some() || ["xterm-kitty", "xterm-ghostty"].contains(&term) {
            return Some(Self::Kitty);
        }
        ["iTerm.app", "WezTerm"].contains(&program).then_some(Self::Iterm)
    }

    /// What shows the picture in a file; none if it cannot be shown.
    pub(crate) fn sequence(self, file: &Path) -> Option<String> {
        let found = std::fs::metadata(file).ok().filter(|found| found.is_file() && found.len() <= LARGEST)?;
        let bytes = std::fs::read(file).ok().filter(|bytes| bytes.len() as u64 == found.len())?;
        let is_png = bytes.starts_with(b"\x89PNG");
        let is_jpeg = bytes.starts_with(&[0xff, 0xd8]);
        let size = bytes.len();
        let data = Media::bytes(bytes).base64()?;
        match self {
            Self::Kitty => is_png.then(|| kitty(&data)),
            Self::Iterm => {
                (is_png || is_jpeg).then(|| format!("\x1b]1337;File=inline=1;size={size}:{data}\x07\n"))
            }
        }
    }
}

fn kitty(data: &str) -> String {
    let mut text = String::with_capacity(data.len() + data.len() / 64 + 64);
    let mut rest = data;
    let mut keys = "f=100,a=T,";
    while !rest.is_empty() {
        // It is ASCII.
        let (chunk, after) = rest.split_at_checked(CHUNK).unwrap_or((rest, ""));
        let more = u8::from(!after.is_empty());
        // A string takes everything.
        let _ = write!(text, "\x1b_G{keys}m={more};{chunk}\x1b\\");
        (rest, keys) = (after, "");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_known_by_its_variables() {
        let check = |variables: &[(&str, &str)], expected: Option<Protocol>| {
            assert_eq!(Protocol::of(&Environment::of(Path::new("/"), variables)), expected, "{variables:?}");
        };
        check(&[("TERM", "xterm-256color")], None);
        check(&[("TERM", "xterm-kitty")], Some(Protocol::Kitty));
        check(&[("KITTY_WINDOW_ID", "1")], Some(Protocol::Kitty));
        check(&[("TERM_PROGRAM", "WezTerm")], Some(Protocol::Iterm));
        check(&[("TERM_PROGRAM", "iTerm.app"), ("TMUX", "/tmp/x")], None);
    }

    #[test]
    fn pictures_are_written_as_the_terminal_wants_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.png");
        std::fs::write(&file, [&b"\x89PNG"[..], &[7; 4000]].concat()).unwrap();
        let shown = Protocol::Kitty.sequence(&file).unwrap();
        assert!(shown.starts_with("\x1b_Gf=100,a=T,m=1;iVBORw") && shown.contains("\x1b_Gm=0;"), "{shown:?}");
        let shown = Protocol::Iterm.sequence(&file).unwrap();
        assert!(shown.starts_with("\x1b]1337;File=inline=1;size=4004:iVBORw"), "{shown:?}");
        std::fs::write(&file, "no picture").unwrap();
        assert_eq!((Protocol::Kitty.sequence(&file), Protocol::Iterm.sequence(&file)), (None, None));
        assert_eq!(Protocol::Kitty.sequence(folder.path()), None);
    }
}
