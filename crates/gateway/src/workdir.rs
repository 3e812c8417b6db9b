//! Which directories clients may name as theirs.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory that a client states, without links in its path, if it exists below one of the roots. It
/// is where programs will be started, so a client's word alone does not make it one.
pub(crate) async fn permitted(stated: PathBuf, roots: &[PathBuf]) -> Option<PathBuf> {
    if roots.is_empty() {
        return None;
    }
    let roots = roots.to_vec();
    // The file system may be slow, or far away.
    tokio::task::spawn_blocking(move || within(&stated, &roots)).await.ok().flatten()
}

fn within(stated: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let real = stated.is_absolute().then(|| fs::canonicalize(stated).ok()).flatten()?;
    let is_below = |root: &PathBuf| fs::canonicalize(root).is_ok_and(|root| real.starts_with(root));
    (roots.iter().any(is_below) && real.is_dir()).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_exists_below_a_root() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (home, other) = (base.join("home"), base.join("home-of-another"));
        for folder in [home.join("work/deep"), other.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(home.join("file"), "").unwrap();
        let roots = [base.join("missing"), home.clone()];
        let check = async |stated: PathBuf, expected: Option<PathBuf>| {
            assert_eq!(permitted(stated.clone(), &roots).await, expected, "{stated:?}");
        };
        check(home.clone(), Some(home.clone())).await;
        check(home.join("work/deep"), Some(home.join("work/deep"))).await;
        check(home.join("work/../work"), Some(home.join("work"))).await;
        check(home.join("file"), None).await;
        check(home.join("none"), None).await;
        check(other.clone(), None).await;
        check(home.join("../home-of-another"), None).await;
        check("work".into(), None).await;
        check("".into(), None).await;
        check("/".into(), None).await;
        #[cfg(unix)]
        {
            let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(to, from).unwrap();
            link(&home.join("out"), &other);
            link(&other.join("in"), &home.join("work"));
            link(&base.join("link-home"), &home);
            check(home.join("out"), None).await;
            check(other.join("in"), Some(home.join("work"))).await;
            let linked = [base.join("link-home")];
            assert_eq!(permitted(home.join("work"), &linked).await, Some(home.join("work")));
        }
        assert_eq!(permitted(home, &[]).await, None, "without a root there is nowhere");
    }
}
