//! A request as its JSON body, on the way to the provider.

use serde_json::{Map, Value, json};

use super::blocks::Blocks;
use super::effort::{self, Circumstances, Plan};
use super::options::{self, Options, Warnings};
use super::{cache, messages, schema, tools};
use crate::catalog::Reasoning;
use crate::wire::{EncodeCx, Encoded, Mode};
use crate::{Error, Request, ResponseFormat};

/// What grows or is large; it ends the body, in this order.
const TAIL: [&str; 3] = ["tools", "system", "messages"];

/// Writes a request.
pub(super) fn encode(request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
    let mut options = Options::of(request)?;
    let mut warnings = Warnings::default();

    let answer = tools::answer_schema(request, cx, &mut warnings);
    let mut toolbox = tools::declare(request, cx, &options.tool_fields, answer, &mut warnings)?;
    let mut blocks = Blocks { cx, foreign_thinking: request.foreign_thinking, warnings: &mut warnings };
    let mut conversation = messages::lay_out(request, options.mid_system, &mut blocks)?;
    let circumstances = Circumstances {
        forced_call: toolbox.forces_call(),
        continues_without_thinking: conversation.continues_without_thinking,
    };
    let explicit = options.body.shift_remove("thinking");
    let plan = effort::plan(request, cx.model, explicit, circumstances, &mut warnings);

    let own_marks = options.body.contains_key("cache_control")
        || cache::is_marked(&toolbox.tools, &conversation.system, &conversation.messages);
    if cx.auto_cache && options.auto_cache && !own_marks {
        cache::mark(&mut toolbox.tools, &mut conversation.system, &mut conversation.messages);
    }

    let mut body = head(request, cx, &plan, &mut warnings);
    if let Some(choice) = toolbox.choice {
        body.insert("tool_choice".to_owned(), choice);
    }
    let mut replaced = Vec::new();
    for (name, value) in options.body {
        if TAIL.contains(&name.as_str()) {
            replaced.push((name, value));
        } else {
            options::merge(&mut body, &name, value);
        }
    }
    if !toolbox.tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(toolbox.tools));
    }
    if !conversation.system.is_empty() {
        body.insert("system".to_owned(), Value::Array(conversation.system));
    }
    body.insert("messages".to_owned(), Value::Array(conversation.messages));
    for (name, value) in replaced {
        options::merge(&mut body, &name, value);
    }
    Ok(Encoded {
        path: "/v1/messages".to_owned(),
        headers: options.betas.into_iter().map(|betas| ("anthropic-beta", betas)).collect(),
        body: Value::Object(body),
        warnings: warnings.into_vec(),
    })
}

/// The small fields, which stay the same from turn to turn.
fn head(request: &Request, cx: &EncodeCx<'_>, plan: &Plan, warnings: &mut Warnings) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    put("model", Value::from(cx.origin.model.as_str()));
    put("max_tokens", Value::from(plan.max_tokens));
    if cx.mode == Mode::Stream {
        put("stream", Value::Bool(true));
    }
    if takes_sampling(cx, plan) {
        if let Some(temperature) = request.temperature {
            put("temperature", Value::from(temperature));
        }
        if let Some(top_p) = request.top_p {
            put("top_p", Value::from(top_p));
        }
    } else {
        for (name, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
            // 1 is what the model does anyway.
            if value.is_some_and(|v| (v - 1.0).abs() > f64::EPSILON) {
                warnings.add("sampling_dropped", format!("{name} was left out: the model refuses it here"));
            }
        }
    }
    if !request.stop_sequences.is_empty() {
        put("stop_sequences", json!(request.stop_sequences));
    }
    if let Some(thinking) = &plan.thinking {
        put("thinking", thinking.clone());
    }
    let output = output_config(request, cx, plan, warnings);
    if !output.is_empty() {
        put("output_config", Value::Object(output));
    }
    if let Some(user) = request.metadata.get("user_id") {
        put("metadata", json!({"user_id": user}));
    }
    for name in request.metadata.keys().filter(|name| *name != "user_id") {
        warnings.add(
            "metadata_dropped",
            format!("the label `{name}` was left out: this wire takes user_id only"),
        );
    }
    body
}

/// Models refuse sampling parameters while they think, and those of the adaptive kind do always
/// (`provider_options` can still send them).
fn takes_sampling(cx: &EncodeCx<'_>, plan: &Plan) -> bool {
    !plan.thinks() && cx.model.is_none_or(|model| model.reasoning != Reasoning::Effort)
}

fn output_config(
    request: &Request,
    cx: &EncodeCx<'_>,
    plan: &Plan,
    warnings: &mut Warnings,
) -> Map<String, Value> {
    let mut output = Map::new();
    if let Some(effort) = &plan.effort {
        output.insert("effort".to_owned(), Value::from(effort.as_str()));
    }
    if let Some(ResponseFormat::JsonSchema { schema, .. }) = &request.response_format
        && tools::takes_format(cx)
    {
        let format = json!({"type": "json_schema", "schema": schema::fit(schema, warnings)});
        output.insert("format".to_owned(), format);
    }
    output
}

#[cfg(test)]
mod tests;
