//! What models put around a patch: the heredoc of a shell command, or the fence of a code block.

/// The wrappers seen so far, and so the lines that may close them.
#[derive(Debug, Default)]
pub(super) struct Wrapper {
    heredoc: Option<String>,
    fence: bool,
}

impl Wrapper {
    /// Whether the line may stand before a patch.
    pub(super) fn opens(&mut self, line: &str) -> bool {
        let line = line.trim();
        if line.is_empty() {
            return true;
        }
        if self.heredoc.is_none()
            && let Some(tag) = heredoc(line)
        {
            self.heredoc = Some(tag.to_owned());
            return true;
        }
        let fence = line.starts_with("```") && !self.fence;
        self.fence |= fence;
        fence
    }

    /// Whether the line may stand after the patch.
    pub(super) fn closes(&mut self, line: &str) -> bool {
        let line = line.trim();
        if line.is_empty() {
            return true;
        }
        if self.heredoc.as_deref() == Some(line) {
            self.heredoc = None;
            return true;
        }
        if self.fence && line == "```" {
            self.fence = false;
            return true;
        }
        false
    }
}

/// The tag of a line such as `apply_patch <<'EOF'`.
fn heredoc(line: &str) -> Option<&str> {
    let (command, tag) = line.split_once("<<")?;
    let known = matches!(command.trim(), "" | "apply_patch" | "applypatch");
    let tag = tag.strip_prefix('-').unwrap_or(tag).trim();
    let bare = ['\'', '"'].iter().find_map(|quote| tag.strip_prefix(*quote)?.strip_suffix(*quote));
    let tag = bare.unwrap_or(tag);
    let word = !tag.is_empty() && tag.chars().all(|c| c.is_alphanumeric() || c == '_');
    (known && word).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_heredocs() {
        let cases = [
            ("<<EOF", Some("EOF")),
            ("<<'EOF'", Some("EOF")),
            ("<<\"PATCH\"", Some("PATCH")),
            ("apply_patch <<'EOF'", Some("EOF")),
            ("apply_patch<<-EOF", Some("EOF")),
            ("applypatch << END_1", Some("END_1")),
            ("<<", None),
            ("<<''", None),
            ("<<'EOF", None),
            ("cat <<EOF", None),
            ("cd src && apply_patch <<EOF", None),
            ("<<EOF | sh", None),
        ];
        for (line, tag) in cases {
            assert_eq!(heredoc(line), tag, "{line}");
        }
    }
}
