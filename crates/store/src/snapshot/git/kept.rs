//! Names under which trees are kept.

use std::io::Write as _;

use super::{Git, make_private};
use crate::snapshot::Tree;
use crate::{Error, Result};

impl Git {
    /// Keeps a tree under a name, and from being cleaned away: a reference, as a file, which is what git
    /// would make of it.
    pub(in crate::snapshot) fn keep(&self, tree: &Tree, name: &str) -> Result<()> {
        let path = self.folder.join(name);
        let written = (|| {
            make_private(path.parent().unwrap_or(&self.folder))?;
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            writeln!(file, "{}", tree.id())?;
            file.persist(&path).map_err(|error| error.error)
        })();
        written.map(drop).map_err(|error| Error::io(&path, error))
    }

    /// Keeps what is kept under names with one beginning under names with another as well: those whose rest is
    /// wanted.
    pub(in crate::snapshot) async fn keep_too(
        &self,
        from: &str,
        to: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<()> {
        if !self.is_there() {
            return Ok(());
        }
        let list = ["for-each-ref", "--format=%(objectname) %(refname)", from];
        let found = self.run(&list, &self.index, None).await?;
        let found = String::from_utf8_lossy(&found);
        let updates = found.lines().filter_map(|line| {
            let (commit, name) = line.split_once(' ')?;
            let rest = name.strip_prefix(from).filter(|rest| wanted(rest))?;
            Some(format!("update {to}{rest} {commit}\n"))
        });
        let updates: String = updates.collect();
        if updates.is_empty() {
            return Ok(());
        }
        self.run(&["update-ref", "--stdin"], &self.index, Some(updates.into_bytes())).await.map(drop)
    }

    /// The tree that is kept under a name.
    pub(in crate::snapshot) async fn kept(&self, name: &str) -> Result<Option<Tree>> {
        if !self.is_there() {
            return Ok(None);
        }
        // Of a commit, which earlier versions kept, its tree.
        let list = ["for-each-ref", "--format=%(if)%(tree)%(then)%(tree)%(else)%(objectname)%(end)", name];
        let found = self.run(&list, &self.index, None).await?;
        let found = String::from_utf8_lossy(&found).trim().to_owned();
        if found.is_empty() { Ok(None) } else { Tree::new(found).map(Some) }
    }
}
