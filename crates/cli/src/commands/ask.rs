//! `junto ask`: a question, and the answer as it comes.

mod exchange;
mod prompt;
mod report;
mod tab;

use std::path::Path;

use junto::llm::{Effort, Finish, Message, Request, Response, ResponseFormat, schema};
use serde_json::Value;
use tokio::time::Instant;

use crate::args::AskArgs;
use crate::choice::{self, Choice};
use crate::config::Config;
use crate::connect;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

use exchange::{Delivery, Exchange};
pub(crate) use prompt::with_piped;
pub(crate) use report::closing_line;
use report::cost;
use tab::Tab;

/// Runs the command.
pub(crate) async fn run(args: AskArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let config = Config::load(environment, &args.settings.values())?;
    for note in &config.notes {
        output.note(note);
    }
    let schema = args.schema.as_deref().map(read_schema).transpose()?;
    let choice = choice::settle(&config, environment)?;
    let client = connect::client(&config, environment)?;
    let message = prompt::message(args.prompt, &args.image).await?;
    let request = request(message, args.system, schema.as_ref(), choice, &config);

    let delivery = match (args.no_stream, args.json || schema.is_some()) {
        (true, _) => Delivery::Whole,
        (false, true) => Delivery::Collected,
        (false, false) => Delivery::Live,
    };
    let started = Instant::now();
    // Before the call, so that it is there when that has ended, however it does.
    let tab = Tab::new(&config, environment, output);
    let (retry, tally) = (config.retry(), tab.tally.clone());
    let exchange = Exchange { client: &client, retry, keys: &config.providers(), tally, output };
    let response = exchange.run(request, delivery).await?;
    let cost = cost(client.catalog(), &response);
    tab.answered(&response, cost);

    let object = match &schema {
        Some(schema) if is_complete(&response) => Some(object(&response, schema)?),
        _ => None,
    };
    if args.json {
        output.exact(&format!("{}\n", report::json(&response, cost, object)))?;
    } else if let Some(object) = object {
        output.exact(&format!("{object}\n"))?;
    } else if delivery != Delivery::Live {
        output.data(&prompt::with_newline(response.text()))?;
    }
    for warning in &response.warnings {
        output.warning(&warning.message);
    }
    let who = format!("{}/{}", response.provider, response.model);
    output.note(&closing_line(&who, &response.usage, cost, started.elapsed()));
    ending(&response)
}

fn request(
    message: Message,
    system: Option<String>,
    schema: Option<&Value>,
    choice: Choice,
    config: &Config,
) -> Request {
    let messages: Vec<Message> = system.map(Message::system).into_iter().chain([message]).collect();
    Request {
        provider: choice.provider,
        model: choice.model,
        max_tokens: config.count("max_tokens"),
        reasoning_effort: config.text("effort").map(|(level, _)| Effort::from(level.to_owned())),
        response_format: schema.map(|schema| ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema: schema.clone(),
            strict: true,
        }),
        ..Request::of(messages)
    }
}

/// Reads and checks the schema that the answer shall fit.
fn read_schema(file: &Path) -> Result<Value, Failure> {
    let fault = |what: String| {
        Failure::usage(
            format!("cannot use the schema {}: {what}", file.display()),
            "name a file that holds a JSON Schema with an object at its root",
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| fault(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
    schema::check_object_root(&file.display().to_string(), &value)?;
    Ok(value)
}

/// The object in an answer, checked against its schema.
fn object(response: &Response, schema: &Value) -> Result<Value, Failure> {
    let kind = junto::llm::ErrorKind::NoObject;
    let text = response.text();
    // The answer was paid for: what does not fit is shown, on the stream for people.
    let no_object = |error: junto::llm::Error| {
        let mut failure = Failure::from(error);
        failure.errors.push(format!("the answer was: {}", text.trim()));
        failure
    };
    let value: Value = serde_json::from_str(text.trim()).map_err(|error| {
        no_object(junto::llm::Error::new(kind, format!("the answer is not JSON: {error}")))
    })?;
    schema::compile("answer", schema)?.check(&value, kind, "the answer").map_err(no_object)?;
    Ok(value)
}

fn is_complete(response: &Response) -> bool {
    !matches!(response.finish_reason.unified, Finish::Length | Finish::ContentFilter | Finish::Error)
}

/// How the command ends after an answer came.
fn ending(response: &Response) -> Result<Exit, Failure> {
    let reason = response.finish_reason.raw.as_deref().unwrap_or("no reason given");
    match response.finish_reason.unified {
        Finish::Stop | Finish::ToolCalls | Finish::Other => Ok(Exit::Done),
        Finish::Length => Err(Failure::new(
            Exit::Limit,
            format!("the answer was cut off after {} tokens", response.usage.output),
            "raise --max-tokens, or ask for a shorter answer",
        )),
        Finish::ContentFilter => Err(Failure::new(
            Exit::Provider,
            format!("{} refused or filtered the answer ({reason})", response.provider),
            "rephrase the prompt, or choose another model",
        )),
        Finish::Error => Err(Failure::new(
            Exit::Provider,
            format!("{} failed half-way ({reason})", response.provider),
            "try again",
        )),
    }
}
