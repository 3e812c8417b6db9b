//! A conversation as one text, for commands that take a prompt and nothing else.

use junto_llm::{Content, Message, Request, ResponseFormat, Role, ToolChoice, Warning};

const HEAD: &str = "Below is a conversation, one message after the other. Write the assistant's next \
                    message: only its text, without a tag around it.\n";

/// The prompt for a request, and what of the request it leaves out. A lone question is its own
/// prompt.
pub(crate) fn flatten(request: &Request) -> (String, Vec<Warning>) {
    let mut warnings = left_out(request);
    let mut pictures = 0;
    let prompt = match request.messages.as_slice() {
        [message] if message.role == Role::User => body(message, &mut pictures),
        messages => {
            let mut prompt = HEAD.to_owned();
            for message in messages {
                // What a message says cannot end it.
                let text = body(message, &mut pictures).replace("</message>", "<\\/message>");
                prompt += &format!("\n<message role=\"{}\">\n{text}\n</message>\n", name(message.role));
            }
            prompt
        }
    };
    if pictures > 0 {
        warnings.push(Warning::new("media_dropped", format!("{pictures} pictures or files were left out")));
    }
    (prompt, warnings)
}

/// Whether a command can be asked this at all.
pub(crate) fn is_possible(request: &Request) -> Result<(), junto_llm::Error> {
    use junto_llm::{Error, ErrorKind};
    if !matches!(request.tool_choice, None | Some(ToolChoice::Auto | ToolChoice::None)) {
        let message = "a command-line agent cannot be made to call tools of others";
        return Err(Error::new(ErrorKind::UnsupportedToolChoice, message));
    }
    if !matches!(request.response_format, None | Some(ResponseFormat::Text)) {
        let message = "a command-line agent cannot be bound to a form of answer";
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    Ok(())
}

fn left_out(request: &Request) -> Vec<Warning> {
    let settings = [
        ("tools", !request.tools.is_empty()),
        ("temperature", request.temperature.is_some()),
        ("top_p", request.top_p.is_some()),
        ("max_tokens", request.max_tokens.is_some()),
        ("stop_sequences", !request.stop_sequences.is_empty()),
        ("reasoning_effort", request.reasoning_effort.is_some()),
    ];
    let names: Vec<&str> = settings.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![Warning::new("settings_dropped", format!("a command-line agent takes no {}", names.join(", ")))]
}

/// What a message says, as text. Reasoning is left out: it is not part of what was said.
fn body(message: &Message, pictures: &mut usize) -> String {
    let parts = message.content.iter().filter_map(|part| match part.content() {
        Content::Text(text) => Some(text.clone()),
        Content::ToolCall(call) => Some(format!("[calls {} with {}]", call.name, call.raw_arguments)),
        Content::ToolResult(result) => {
            let outcome = if result.is_error { "failed with" } else { "gave" };
            Some(format!("[the call {outcome}: {}]", result.output.to_text()))
        }
        Content::Image(_) | Content::Audio(_) | Content::Document(_) => {
            *pictures += 1;
            None
        }
        Content::Thinking(_) | Content::RedactedThinking(_) | Content::Other(_) => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::{Media, Part, ToolCall, ToolResult};

    use super::*;

    fn check(messages: Vec<Message>, expected: &str) {
        let (prompt, _) = flatten(&Request::of(messages));
        assert_eq!(prompt.strip_prefix(HEAD).unwrap_or(&prompt), expected);
    }

    #[test]
    fn conversations_become_prompts() {
        check(vec![Message::user("hello </message>")], "hello </message>");
        check(
            vec![Message::system("Be short."), Message::user("hello")],
            "\n<message role=\"system\">\nBe short.\n</message>\n\n<message role=\"user\">\nhello\n</message>\n",
        );
        let call = Part::new(Content::ToolCall(ToolCall::function("c", "add", "{\"a\":1}")));
        check(
            vec![
                Message::new(Role::Assistant, vec![Part::text("So:"), call]),
                Message::tool_results([ToolResult::text("c", "2</message>"), ToolResult::error("d", "no")]),
            ],
            "\n<message role=\"assistant\">\nSo:\n[calls add with {\"a\":1}]\n</message>\n\
             \n<message role=\"tool\">\n[the call gave: 2<\\/message>]\n[the call failed with: no]\n</message>\n",
        );
    }

    #[test]
    fn what_is_left_out_is_said() {
        let message = Message::new(Role::User, vec![Part::text("look"), Part::image(Media::url("x"))]);
        let request = Request { temperature: Some(0.5), ..Request::of([message]) }.max_tokens(5);
        let (prompt, warnings) = flatten(&request);
        assert_eq!(prompt, "look");
        let codes: Vec<&str> = warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["settings_dropped", "media_dropped"]);
        assert!(warnings[0].message.contains("temperature, max_tokens"), "{warnings:?}");
    }

    #[test]
    fn what_is_impossible_is_an_error() {
        let forced = Request { tool_choice: Some(ToolChoice::Required), ..Request::prompt("x") };
        assert!(is_possible(&forced).is_err());
        let format = Request { response_format: Some(ResponseFormat::JsonObject), ..Request::prompt("x") };
        assert!(is_possible(&format).is_err());
        assert!(is_possible(&Request::prompt("x")).is_ok());
    }
}
