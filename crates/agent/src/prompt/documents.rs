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
/// The longest file that is read whole, so that its encoding is found out. Only the beginning is shown
/// of either kind.
const WHOLE: u64 = 1 << 20;

/// The documents that were found, from the root down to the working directory.
#[derive(Debug, Default)]
pub(super) struct Documents {
    found: Vec<Document>,
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
        names: &[&str],
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut documents = Self { left: BUDGET, ..Self::default() };
        let mut seen = Vec::new();
        let names: Vec<&str> =
            [ALWAYS].into_iter().chain(names.iter().copied().filter(|name| *name != ALWAYS)).collect();
        for directory in directories(root, &env.facts().cwd) {
            for name in &names {
                let Some(path) = directory.join(name).to_str().map(str::to_owned) else {
                    warnings.push(format!("{} is no UTF-8; its documents were not read", directory.display()));
                    break;
                };
                let real = match locate(env, &path, root).await {
                    Ok(real) if seen.contains(&real) => continue,
                    Ok(real) => real,
                    Err(why) => {
                        warnings.push(why);
                        continue;
                    }
                };
                match read(env, &real, warnings).await {
                    Ok(None) => {}
                    Ok(Some(read)) => {
                        seen.push(real);
                        documents.add(path, read);
                    }
                    Err(why) => warnings.push(format!("project instructions left out: {why}")),
                }
                if documents.truncated {
                    warnings.push(format!(
                        "the project's instructions are longer than 32 KB and were cut in {}",
                        documents.found.last().map_or("the first document", |last| &last.path)
                    ));
                    return documents;
                }
            }
        }
        documents
    }

    /// Adds what fits.
    fn add(&mut self, path: String, Read { text, cut }: Read) {
        let text = text.trim_end();
        let end = text.floor_char_boundary(self.left.min(text.len()));
        self.truncated = cut || end < text.len();
        self.left -= end;
        let text = text.get(..end).unwrap_or_default();
        if !text.trim().is_empty() {
            self.found.push(Document { path, text: text.to_owned() });
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

/// The directories from the root down; only the last if it is not below the root.
fn directories<'a>(root: &RealPath, cwd: &'a RealPath) -> Vec<&'a std::path::Path> {
    let ancestors = cwd.as_path().ancestors();
    let mut down: Vec<_> = ancestors.take_while(|directory| directory.starts_with(root)).collect();
    if down.is_empty() {
        down.push(cwd.as_path());
    }
    down.reverse();
    down
}

/// Where a document really is.
async fn locate(env: &dyn ExecutionEnvironment, path: &str, root: &RealPath) -> Result<RealPath, String> {
    let real = env.resolve(path).await.map_err(|error| format!("project instructions left out: {error}"))?;
    if real.is_within(root) {
        return Ok(real);
    }
    Err(format!("project instructions left out: {path} is a link out of the project, to {real}"))
}

/// The text of a document; none if it is not there.
async fn read(
    env: &dyn ExecutionEnvironment,
    path: &RealPath,
    warnings: &mut Vec<String>,
) -> Result<Option<Read>, String> {
    match TextFile::read(env, path, WHOLE).await {
        Ok(Content::Text(file)) => {
            warnings.extend(file.caveat().map(|caveat| format!("{path}: {caveat}")));
            Ok(Some(Read { text: file.text, cut: false }))
        }
        Ok(Content::TooLarge { kind: Kind::Text, .. }) => {
            let text = beginning(env, path).await.map_err(|error| error.to_string())?;
            Ok(Some(Read { text, cut: true }))
        }
        Ok(Content::TooLarge { kind: Kind::Image(what), .. } | Content::Image { media_type: what, .. }) => {
            Err(format!("{path} is no text but {what}"))
        }
        Ok(Content::TooLarge { kind: Kind::Binary(what), .. } | Content::Binary { what, .. }) => {
            Err(format!("{path} is no text but {what}"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The beginning of a long text: a little more than is ever shown, so that the character which is cut in
/// two at its end is not.
async fn beginning(env: &dyn ExecutionEnvironment, path: &RealPath) -> junto_env::Result<String> {
    let length = Some(BUDGET as u64 + 8);
    let mut reader = env.open(path, ByteRange { start: 0, length }).await?;
    let mut bytes = Vec::with_capacity(BUDGET + 8);
    reader.read_to_end(&mut bytes).await.map_err(|error| Error::io(path, error))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}
