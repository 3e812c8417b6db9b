//! What must hold of the notebook reader for any bytes. A file of its own, since only this target
//! needs the crate of the agent.

use junto_agent::tools::notebook::{MOST, PICTURES, read};

/// A notebook is text and pictures within bounds, or it is refused; nothing else happens. Tells
/// whether it was one.
pub fn notebook(data: &[u8]) -> bool {
    let Ok(notebook) = read(data) else { return false };
    assert!(notebook.text.len() <= MOST, "the text is too long");
    assert!(notebook.pictures.len() <= PICTURES, "there are too many pictures");
    assert!(notebook.left_out <= notebook.cells, "more is left out than there is");
    assert!(notebook.text.is_empty() || notebook.text.ends_with('\n'), "the last line has no end");
    let shown = notebook.cells - notebook.left_out;
    assert!(notebook.text.lines().count() >= shown, "a cell is not shown");
    true
}
