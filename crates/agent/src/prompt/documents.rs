//! The project's own documents: how to work in it.

use std::fmt::Write as _;

use junto_env::text::{Content, TextFile};
use junto_env::{ByteRange, Error, ErrorKind, ExecutionEnvironment, Kind, RealPath};
use tokio::io::AsyncReadExt as _;

use super::text::one_line;

/// The document that every profile reads.
const ALWAYS: &str = "AGENTS.md";
/// How many bytes of documents there may be.
const BUDGET: usize = 32 * 1024;
/// What stands where they are cut.
const MARKER: &str = "[Project instructions truncated at 32KB]";
/// The longest file that is read whole, so that its encoding is found out.
const WHOLE: u64 = 1 << 20;

/// The documents that were found, from the root down to the working directory.
#[derive(Debug)]
pub(super) struct Documents {
    found: Vec<Document>,
    /// How many bytes are left of the budget.
    left: usize,
    truncated: bool,
}

#[derive(Debug)]
struct Document {
    path: String,
    text: String,
}

/// What is in a file.
struct Read {
    text: String,
    /// Whether the text is only the beginning.
    cut: bool,
    /// What is to be known of how it was read.
    caveat: Option<String>,
}

impl Documents {
    /// Loads `AGENTS.md` and the files of these names from every directory between the root and the
    /// working directory, both included. Of a directory `AGENTS.md` comes first.
    ///
    /// A file that leads out of the root is refused, and one that cannot be read as text is passed over,
    /// both with a warning. One that was there under another name already is not repeated.
    pub(super) async fn load(
        env: &dyn ExecutionEnvironment,
        root: &RealPath,
        names: &[String],
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut documents = Self { found: Vec::new(), left: BUDGET, truncated: false };
        let mut seen = Vec::new();
        for path in candidates(root, &env.facts().cwd, names) {
            match read(env, &path, root, &mut seen).await {
                Ok(None) => {}
                Ok(Some(read)) => {
                    warnings.extend(read.caveat.as_ref().map(|caveat| format!("{path}: {caveat}")));
                    documents.add(path.clone(), &read);
                }
                Err(why) => warnings.push(format!("project instructions were left out: {why}")),
            }
            if documents.truncated {
                warnings.push(format!("project instructions were cut at 32 KB, in {path}"));
                break;
            }
        }
        documents
    }

    /// Adds as much of a document as fits.
    fn add(&mut self, path: String, read: &Read) {
        let text = read.text.trim_end();
        let (fits, rest) = text.split_at(text.floor_char_boundary(self.left));
        self.left -= fits.len();
        self.truncated = read.cut || !rest.is_empty();
        if !fits.trim().is_empty() {
            self.found.push(Document { path, text: fits.to_owned() });
        }
    }

    /// The layer of the prompt; empty if there are none.
    pub(super) fn layer(&self) -> String {
        if self.found.is_empty() {
            return String::new();
        }
        let mut layer = "# Project instructions\n\nThe project says this on how to work in it. Where two of \
                         its files disagree, the later one wins."
            .to_owned();
        for Document { path, text } in &self.found {
            let path = one_line(path).replace('"', "&quot;");
            let _ = write!(layer, "\n\n<project_document path=\"{path}\">\n{text}\n</project_document>");
        }
        if self.truncated {
            let _ = write!(layer, "\n\n{MARKER}");
        }
        layer
    }
}

/// Where documents may be, from the root down; only in the working directory if it is not below the root.
fn candidates(root: &RealPath, cwd: &RealPath, names: &[String]) -> Vec<String> {
    let others = names.iter().map(String::as_str).filter(|name| *name != ALWAYS);
    let names: Vec<&str> = [ALWAYS].into_iter().chain(others).collect();
    let mut directories: Vec<_> =
        cwd.as_path().ancestors().take_while(|directory| directory.starts_with(root)).collect();
    if directories.is_empty() {
        directories.push(cwd.as_path());
    }
    let paths = directories.iter().rev().flat_map(|directory| names.iter().map(|name| directory.join(name)));
    // An environment takes no path that is no UTF-8.
    paths.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// The text of a document; none if it is not there, or if it was seen already.
async fn read(
    env: &dyn ExecutionEnvironment,
    path: &str,
    root: &RealPath,
    seen: &mut Vec<RealPath>,
) -> Result<Option<Read>, String> {
    let real = env.resolve(path).await.map_err(|error| error.to_string())?;
    if !real.is_within(root) {
        return Err(format!("{path} is a link out of the project, to {real}"));
    }
    if seen.contains(&real) {
        return Ok(None);
    }
    let read = match TextFile::read(env, &real, WHOLE).await {
        Ok(Content::Text(file)) => Read { caveat: file.caveat(), text: file.text, cut: false },
        Ok(Content::TooLarge { kind: Kind::Text, .. }) => {
            let text = beginning(env, &real).await.map_err(|error| error.to_string())?;
            Read { text, cut: true, caveat: None }
        }
        Ok(
            Content::Image { media_type: what, .. }
            | Content::Binary { what, .. }
            | Content::TooLarge { kind: Kind::Image(what) | Kind::Binary(what), .. },
        ) => return Err(format!("{path} is no text but {what}")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    seen.push(real);
    Ok(Some(read))
}

/// The beginning of a long text: so much more than is ever shown that a character which is cut in two at
/// the end is not.
async fn beginning(env: &dyn ExecutionEnvironment, path: &RealPath) -> junto_env::Result<String> {
    let length = Some(BUDGET as u64 + 8);
    let mut reader = env.open(path, ByteRange { start: 0, length }).await?;
    let mut bytes = Vec::with_capacity(BUDGET + 8);
    reader.read_to_end(&mut bytes).await.map_err(|error| Error::io(path, error))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}
