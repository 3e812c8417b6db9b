//! What servers give, as a tool's outcome: text, pictures, structured data, resources.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_core::{Media, ToolCx, ToolOutcome};
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Role,
};

/// How many pictures of one answer are passed on, and how many bytes of each.
const PICTURES: usize = 16;
const PICTURE: usize = 8 * 1024 * 1024;

/// What a call gave. Large texts go to the caller's spool.
pub(super) async fn of_call(result: CallToolResult, cx: &ToolCx) -> ToolOutcome {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let mut gathered = Gathered::default();
    for block in content {
        gathered.block(block);
    }
    let data = structured_content.filter(|data| !data.is_null());
    // Most servers repeat in a text what they give as data, for hosts that do not know of it.
    if let Some(data) = &data {
        let repeated =
            gathered.texts.iter().any(|text| serde_json::from_str(text).ok().as_ref() == Some(data));
        if !repeated {
            gathered.texts.push(data.to_string());
        }
    }
    let outcome = gathered.outcome(is_error.unwrap_or(false), cx).await;
    ToolOutcome { data: data.map(Arc::new), ..outcome }
}

/// What a resource is.
pub(super) async fn of_resource(result: ReadResourceResult, cx: &ToolCx) -> ToolOutcome {
    let mut gathered = Gathered::default();
    for contents in result.contents {
        gathered.resource(contents);
    }
    gathered.outcome(false, cx).await
}

/// What a prompt says.
pub(super) async fn of_prompt(result: GetPromptResult, cx: &ToolCx) -> ToolOutcome {
    let mut gathered = Gathered::default();
    gathered.texts.extend(result.description);
    for message in result.messages {
        let who = if message.role == Role::User { "user" } else { "assistant" };
        gathered.texts.push(format!("[{who}]"));
        gathered.block(message.content);
    }
    gathered.outcome(false, cx).await
}

/// One line for each resource, and each form that resources have.
pub(super) fn resources(resources: &[Resource], templates: &[ResourceTemplate]) -> String {
    let mut lines: Vec<String> = resources
        .iter()
        .map(|resource| line(&resource.uri, &resource.name, resource.description.as_deref()))
        .collect();
    lines.extend(
        templates
            .iter()
            .map(|template| line(&template.uri_template, &template.name, template.description.as_deref())),
    );
    if lines.is_empty() { "there are none".to_owned() } else { lines.join("\n") }
}

/// One line for each prompt.
pub(super) fn prompts(prompts: &[Prompt]) -> String {
    let lines: Vec<String> = prompts
        .iter()
        .map(|prompt| {
            let arguments = prompt.arguments.iter().flatten();
            let named: Vec<String> = arguments
                .map(|argument| {
                    let mark = if argument.required.unwrap_or(false) { "" } else { "?" };
                    format!("{}{mark}", argument.name)
                })
                .collect();
            line(&format!("{}({})", prompt.name, named.join(", ")), "", prompt.description.as_deref())
        })
        .collect();
    if lines.is_empty() { "there are none".to_owned() } else { lines.join("\n") }
}

fn line(what: &str, name: &str, description: Option<&str>) -> String {
    let told: Vec<&str> =
        [name, description.unwrap_or_default()].into_iter().filter(|text| !text.is_empty()).collect();
    if told.is_empty() { what.to_owned() } else { format!("{what}: {}", told.join(", ").replace('\n', " ")) }
}

#[derive(Default)]
struct Gathered {
    texts: Vec<String>,
    images: Vec<Media>,
}

impl Gathered {
    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text),
            ContentBlock::Image(image) => self.picture(&image.data, &image.mime_type),
            ContentBlock::Audio(audio) => self.unshown("sound", &audio.mime_type, audio.data.len()),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                self.texts
                    .push(format!("[resource {}]", line(&link.uri, &link.name, link.description.as_deref())));
            }
            _ => self.texts.push("[something of a kind that is not known here]".to_owned()),
        }
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.texts.push(format!("[{uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_default();
                self.texts.push(format!("[{uri}]"));
                if kind.starts_with("image/") {
                    self.picture(&blob, &kind);
                } else {
                    self.unshown("data", &kind, blob.len());
                }
            }
            _ => self.texts.push("[a resource of a kind that is not known here]".to_owned()),
        }
    }

    fn picture(&mut self, data: &str, kind: &str) {
        let decoded = STANDARD.decode(data.trim());
        match decoded {
            Ok(bytes) if bytes.len() <= PICTURE && self.images.len() < PICTURES => {
                let media_type = Some(kind.to_owned()).filter(|kind| kind.starts_with("image/"));
                self.images.push(Media { media_type, ..Media::bytes(bytes) });
                self.texts.push(format!("[picture {}]", self.images.len()));
            }
            Ok(bytes) => self.unshown("a picture", kind, bytes.len()),
            Err(_) => self.texts.push("[a picture whose data cannot be read]".to_owned()),
        }
    }

    fn unshown(&mut self, what: &str, kind: &str, bytes: usize) {
        self.texts.push(format!("[{what} that is not shown: {kind}, {bytes} bytes]"));
    }

    async fn outcome(self, is_error: bool, cx: &ToolCx) -> ToolOutcome {
        let mut spool = cx.caller.spool();
        for (index, text) in self.texts.iter().enumerate() {
            if index > 0 {
                spool.push("\n").await;
            }
            spool.push(text).await;
        }
        ToolOutcome { is_error, images: self.images, ..ToolOutcome::ok(spool.finish().await) }
    }
}
