//! What a patch does to files, worked out in memory.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, hash_map};
use std::mem::take;

use super::error::{ApplyError, ApplyErrorKind};
use super::place::place;
use super::splice::splice;
use super::{Hunk, Operation, Patch};
use crate::lines::Lines;
use crate::stage::Stage;

/// What is known of a file before the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File<'a> {
    /// There is none.
    Missing,
    /// There is one, with this text.
    Text(&'a str),
    /// There is one that cannot be read as text. It can be replaced and deleted, but not updated.
    Opaque,
}

impl<'a> From<Option<&'a str>> for File<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Missing, Self::Text)
    }
}

/// One file that is to be other than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file that was not there.
    Create {
        /// The file.
        path: String,
        /// Its text.
        text: String,
    },
    /// A file that gets another text or another name.
    Write {
        /// The file, by its new name.
        path: String,
        /// Its whole text.
        text: String,
        /// The name it had, if that is another one. There is to be no file of that name afterwards.
        moved_from: Option<String>,
    },
    /// A file that goes.
    Remove {
        /// The file.
        path: String,
    },
}

/// What a patch does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The files to change, each once, in the order of the patch. Files that end up as they were are
    /// left out.
    pub changes: Vec<Change>,
    /// Where the hunks were found.
    pub hunks: Vec<Placed>,
}

/// Where a hunk was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The file, by the name it had then.
    pub path: String,
    /// The number of the hunk within its section of the patch, from 1.
    pub hunk: usize,
    /// The first line it stands for, from 1, as the file was before this section.
    pub line: usize,
    /// How closely its lines had to be looked at.
    pub stage: Stage,
}

/// Works out what the patch does to files. Nothing is done: if one hunk does not fit, there are no
/// changes at all.
///
/// `files` is asked once for each path of the patch. The operations follow one another, so a later
/// one sees what an earlier one did to the same file.
///
/// ```
/// use junto_patch::{Change, Patch, apply};
/// let patch = Patch::parse("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch")?;
/// let applied = apply(&patch, |path| (path == "a.txt").then_some("zero\none\n"))?;
/// let text = "zero\ntwo\n".to_owned();
/// assert_eq!(applied.changes, [Change::Write { path: "a.txt".into(), text, moved_from: None }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply<'a, F: Into<File<'a>>>(
    patch: &'a Patch,
    files: impl FnMut(&str) -> F,
) -> Result<Applied, ApplyError> {
    let mut tree = Tree { look: files, entries: HashMap::new(), order: Vec::new() };
    let mut hunks = Vec::new();
    for operation in &patch.operations {
        match operation {
            Operation::Add { path, text } => {
                tree.entry(path).now = Now::text(text.as_str().into(), None);
            }
            Operation::Delete { path } => {
                let entry = tree.entry(path);
                if matches!(entry.now, Now::Missing) {
                    return Err(ApplyError::file(path, ApplyErrorKind::Missing));
                }
                entry.now = Now::Missing;
            }
            Operation::Update { path, moved_to, hunks: wanted } => {
                let (text, placed) = update(&tree.entry(path).now, path, wanted)?;
                hunks.extend(placed);
                let target = moved_to.as_ref().unwrap_or(path);
                let origin = take(&mut tree.entry(path).now).origin();
                let entry = tree.entry(target);
                if !matches!(entry.now, Now::Missing) {
                    let kind = ApplyErrorKind::TargetExists { from: path.clone() };
                    return Err(ApplyError::file(target, kind));
                }
                entry.now = Now::text(text.into(), origin);
            }
        }
    }
    Ok(Applied { changes: tree.changes(), hunks })
}

fn update(now: &Now<'_>, path: &str, hunks: &[Hunk]) -> Result<(String, Vec<Placed>), ApplyError> {
    let text = match now {
        Now::Text { text, .. } => text,
        Now::Missing => return Err(ApplyError::file(path, ApplyErrorKind::Missing)),
        Now::Opaque => return Err(ApplyError::file(path, ApplyErrorKind::NotText)),
    };
    let lines = Lines::new(text);
    let placements =
        place(&lines, hunks).map_err(|(number, kind)| ApplyError::hunk(path, number + 1, kind))?;
    let placed = placements.iter().zip(1..).map(|(placement, hunk)| Placed {
        path: path.to_owned(),
        hunk,
        line: placement.start + 1,
        stage: placement.stage,
    });
    let placed = placed.collect();
    Ok((splice(&lines, placements), placed))
}

/// The files of the patch as they are after its first operations.
struct Tree<'a, L> {
    look: L,
    entries: HashMap<&'a str, Entry<'a>>,
    /// The paths as they were met.
    order: Vec<&'a str>,
}

struct Entry<'a> {
    before: File<'a>,
    now: Now<'a>,
}

#[derive(Default)]
enum Now<'a> {
    #[default]
    Missing,
    Opaque,
    Text {
        text: Cow<'a, str>,
        /// The file before the patch of which this is what became.
        origin: Option<&'a str>,
    },
}

impl<'a> Now<'a> {
    fn text(text: Cow<'a, str>, origin: Option<&'a str>) -> Self {
        Self::Text { text, origin }
    }

    fn origin(&self) -> Option<&'a str> {
        match self {
            Self::Text { origin, .. } => *origin,
            Self::Missing | Self::Opaque => None,
        }
    }
}

impl<'a, L: FnMut(&str) -> F, F: Into<File<'a>>> Tree<'a, L> {
    fn entry(&mut self, path: &'a str) -> &mut Entry<'a> {
        match self.entries.entry(path) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                self.order.push(path);
                let before = (self.look)(path).into();
                let now = match before {
                    File::Missing => Now::Missing,
                    File::Opaque => Now::Opaque,
                    File::Text(text) => Now::text(text.into(), Some(path)),
                };
                entry.insert(Entry { before, now })
            }
        }
    }

    fn changes(mut self) -> Vec<Change> {
        // A file has moved only if its old name is free at the end.
        let moved: HashMap<&str, &str> = self
            .entries
            .iter()
            .filter_map(|(path, entry)| Some((*path, entry.now.origin()?)))
            .filter(|(path, origin)| path != origin && self.is_gone(origin))
            .collect();
        let sources: HashSet<&str> = moved.values().copied().collect();
        let mut changes = Vec::new();
        for path in self.order {
            let Some(Entry { before, now }) = self.entries.remove(path) else { continue };
            let moved_from = moved.get(path).map(|from| (*from).to_owned());
            let path = path.to_owned();
            match (before, now) {
                (File::Missing, Now::Text { text, .. }) if moved_from.is_none() => {
                    changes.push(Change::Create { path, text: text.into_owned() });
                }
                (File::Text(old), Now::Text { text, .. }) if old == text && moved_from.is_none() => {}
                (_, Now::Text { text, .. }) => {
                    changes.push(Change::Write { path, text: text.into_owned(), moved_from });
                }
                (File::Missing, Now::Missing) | (_, Now::Opaque) => {}
                (_, Now::Missing) if sources.contains(path.as_str()) => {}
                (_, Now::Missing) => changes.push(Change::Remove { path }),
            }
        }
        changes
    }

    fn is_gone(&self, path: &str) -> bool {
        self.entries.get(path).is_some_and(|entry| matches!(entry.now, Now::Missing))
    }
}
