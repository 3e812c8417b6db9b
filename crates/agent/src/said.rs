//! What somebody said, made ready for the model.

use junto_core::{AgentError, AgentErrorKind, Body, Input, Payload};
use junto_env::{ByteRange, ExecutionEnvironment};
use junto_llm::{Media, Message, Part, Role};
use serde::Serialize;
use tokio::io::AsyncReadExt as _;

/// The largest picture, in bytes.
const MOST: u64 = 20 * 1024 * 1024;

/// An input whose pictures were read. They are read once, when it is said: a file that is missing is
/// the speaker's mistake then, and one that changes later does not change the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) input: Input,
    pictures: Vec<Media>,
}

impl Said {
    /// What the loop itself says.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { input: Input::text(text), pictures: Vec::new() }
    }

    /// What was said before the session was brought back, with the pictures as they were read then.
    pub(crate) fn recalled(input: Input, pictures: Vec<Media>) -> Self {
        Self { input, pictures }
    }

    /// # Errors
    /// `invalid` if it says nothing, or a picture cannot be read or is none.
    pub(crate) async fn read(input: Input, env: &dyn ExecutionEnvironment) -> Result<Self, AgentError> {
        if input.text.trim().is_empty() && input.images.is_empty() {
            return Err(AgentError::new(AgentErrorKind::Invalid, "the input says nothing"));
        }
        let mut pictures = Vec::new();
        for path in &input.images {
            let path = path.to_string_lossy();
            let picture = picture(&path, env).await;
            pictures.push(picture.map_err(|message| AgentError::new(AgentErrorKind::Invalid, message))?);
        }
        Ok(Self { input, pictures })
    }

    /// The event that it was accepted as an input.
    pub(crate) fn accepted(&self) -> Body {
        Body::UserInput { input: self.input.clone(), pictures: media(&self.pictures) }
    }

    /// The event that it was added to an input under way.
    pub(crate) fn injected(&self) -> Body {
        Body::SteeringInjected { input: self.input.clone(), pictures: media(&self.pictures) }
    }

    /// The message for the model.
    pub(crate) fn message(&self) -> Message {
        let mut parts: Vec<Part> = self.pictures.iter().cloned().map(Part::image).collect();
        if !self.input.text.is_empty() {
            parts.push(Part::text(&self.input.text));
        }
        Message::new(Role::User, parts)
    }
}

/// Pictures as events have them; absent if there are none.
pub(crate) fn media(pictures: &[Media]) -> Option<Payload> {
    if pictures.is_empty() { None } else { json(pictures) }
}

/// A part of the conversation as events have it.
pub(crate) fn json<T: Serialize + ?Sized>(part: &T) -> Option<Payload> {
    // Messages and media have string keys and no value that JSON lacks, so this does not fail.
    serde_json::to_string(part).ok().map(Payload::from)
}

/// Whether an answer ends in a question, whatever quotes, brackets and emphasis are around it.
pub(crate) fn is_question(answer: &str) -> bool {
    let said = answer.trim_end_matches(|c: char| c.is_whitespace() || "*_`\"')]}>”’»".contains(c));
    said.ends_with(['?', '？', '؟'])
}

async fn picture(path: &str, env: &dyn ExecutionEnvironment) -> Result<Media, String> {
    let real = env.resolve(path).await.map_err(|e| e.to_string())?;
    let file = env.open(&real, ByteRange::ALL).await.map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).await.map_err(|e| format!("{real}: {e}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("{real}: larger than {MOST} bytes"));
    }
    let media = Media::bytes(bytes);
    if !media.mime().starts_with("image/") {
        return Err(format!("{real}: no picture"));
    }
    Ok(media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_known_by_their_end() {
        let check = |answer: &str, expected| assert_eq!(is_question(answer), expected, "{answer}");
        check("Which one?", true);
        check("Two are possible.\n\n**Which one do you mean?**\n", true);
        check("\"Now?\"", true);
        check("どちらですか？", true);
        check("Why? Because it was late.", false);
        check("Done.", false);
        check("", false);
        check("Run `what?` again.", false);
    }
}
