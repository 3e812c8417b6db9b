//! The question: the prompt, what is piped in, and pictures.

use std::io::{IsTerminal, Read};

use junto::llm::{Media, Message, Part, Role};

use crate::failure::{Exit, Failure};

/// More than any model reads.
const LARGEST_INPUT: usize = 32 * 1024 * 1024;

/// The user's message.
///
/// # Errors
/// If there is nothing to ask, or standard input cannot be read.
pub(super) async fn message(prompt: Option<String>, images: &[String]) -> Result<Message, Failure> {
    let text = with_piped(prompt.as_deref()).await?;
    if text.is_empty() && images.is_empty() {
        return Err(Failure::usage(
            "there is nothing to ask",
            "give a prompt, as in `junto ask \"What is a junto?\"`, or pipe text in",
        ));
    }
    let mut parts: Vec<Part> = images.iter().map(|image| Part::image(media(image))).collect();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    Ok(Message::new(Role::User, parts))
}

/// The prompt, a blank line, and what is piped in; empty if there is neither.
///
/// # Errors
/// If standard input cannot be read.
pub(crate) async fn with_piped(prompt: Option<&str>) -> Result<String, Failure> {
    let piped = piped_in().await?;
    Ok(join(prompt, piped.as_deref()))
}

fn join(prompt: Option<&str>, piped: Option<&str>) -> String {
    let said = [prompt, piped].into_iter().flatten().map(|text| text.trim_end_matches(['\n', '\r']));
    said.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn media(image: &str) -> Media {
    if image.starts_with("http://") || image.starts_with("https://") {
        Media::url(image)
    } else {
        Media::path(image)
    }
}

/// A text with a newline at its end, unless it is empty.
pub(super) fn with_newline(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What is piped in; `None` at a terminal.
///
/// # Errors
/// If it is no text, or too much of it.
async fn piped_in() -> Result<Option<String>, Failure> {
    let fault = |what: String| {
        Failure::new(
            Exit::Usage,
            format!("cannot use standard input: {what}"),
            "pipe in UTF-8 text of at most 32 MiB, or none with `< /dev/null`",
        )
    };
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let read = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        let most = LARGEST_INPUT as u64 + 1;
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = read.await.map_err(|e| fault(e.to_string()))?.map_err(|e| fault(e.to_string()))?;
    if bytes.len() > LARGEST_INPUT {
        return Err(fault("it is too large".to_owned()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| fault("it is not UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_and_input_are_joined() {
        let check = |prompt, piped, expected: &str| assert_eq!(join(prompt, piped), expected);
        check(Some("Review this."), Some("diff\n"), "Review this.\n\ndiff");
        check(Some("Hello"), Some(""), "Hello");
        check(Some("Hello"), None, "Hello");
        check(None, Some("  indented\n"), "  indented");
        check(Some(" "), Some("\n"), "");
        check(None, None, "");
    }
}
