//! Answers that are objects.

use futures_util::{Stream, StreamExt, stream};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Generate, generate, parse_partial};
use crate::{Error, ErrorKind, EventStream, Response, ResponseFormat, StreamEvent, schema};

/// An answer that fits its schema.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The object.
    pub object: Value,
    /// The answer it came in.
    pub response: Response,
}

impl Generated {
    /// The object as a type of the caller's.
    ///
    /// # Errors
    /// `no_object` if it does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_value(self.object.clone()).map_err(|e| {
            Error::new(ErrorKind::NoObject, format!("the answer does not fit the type: {e}")).with_source(e)
        })
    }
}

/// Asks for an object that fits a schema.
///
/// # Errors
/// `configuration` if the schema has no object root; `no_object` if the answer does not fit, which
/// is not retried; else the model call's error.
pub async fn generate_object(options: Generate, name: &str, schema: Value) -> Result<Generated, Error> {
    let (options, validator) = prepare(options, name, schema)?;
    let response = generate(options).await?.response;
    let object = read(&response, &validator)?;
    Ok(Generated { object, response })
}

/// One step of a streamed object.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// As much of the object as has come.
    Partial(Value),
    /// The whole object; it fits the schema. The last event.
    Complete(Box<Generated>),
}

/// As [`generate_object`], but hands on the object as it grows.
///
/// # Errors
/// As [`generate_object`], for what fails before the first event; `no_object` may be the last item.
pub async fn stream_object(
    options: Generate,
    name: &str,
    schema: Value,
) -> Result<impl Stream<Item = Result<ObjectEvent, Error>> + Send + use<>, Error> {
    let (options, validator) = prepare(options, name, schema)?;
    let events = Box::pin(super::stream(options)).await?;
    let state = Growing { events, text: String::new(), parsed_at: 0, last: None, validator, over: false };
    Ok(stream::unfold(state, |mut state| async move {
        let item = state.next().await?;
        Some((item, state))
    }))
}

struct Growing {
    events: EventStream,
    text: String,
    /// How long the text was when it was last read: it is read anew only when it has grown enough,
    /// so that a long object costs no quadratic time.
    parsed_at: usize,
    last: Option<Value>,
    validator: schema::Validator,
    over: bool,
}

impl Growing {
    async fn next(&mut self) -> Option<Result<ObjectEvent, Error>> {
        while !self.over {
            match self.events.next().await? {
                Ok(StreamEvent::TextDelta { text, .. }) => {
                    self.text.push_str(&text);
                    if let Some(partial) = self.grown() {
                        return Some(Ok(ObjectEvent::Partial(partial)));
                    }
                }
                Ok(StreamEvent::StepFinish { .. }) => {
                    self.text.clear();
                    self.parsed_at = 0;
                }
                Ok(StreamEvent::Finish { response: Some(response), .. }) => {
                    self.over = true;
                    return Some(read(&response, &self.validator).map(|object| {
                        ObjectEvent::Complete(Box::new(Generated { object, response: *response }))
                    }));
                }
                Ok(_) => {}
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    fn grown(&mut self) -> Option<Value> {
        if self.text.len() < self.parsed_at + self.parsed_at / 16 {
            return None;
        }
        self.parsed_at = self.text.len();
        let partial = parse_partial(&self.text)?;
        if self.last.as_ref() == Some(&partial) {
            return None;
        }
        self.last = Some(partial.clone());
        Some(partial)
    }
}

fn prepare(options: Generate, name: &str, schema: Value) -> Result<(Generate, schema::Validator), Error> {
    schema::check_object_root(name, &schema)?;
    let validator = schema::compile(name, &schema)?;
    let format = ResponseFormat::JsonSchema { name: name.to_owned(), schema, strict: true };
    Ok((options.with(|request| request.response_format = Some(format)), validator))
}

fn read(response: &Response, validator: &schema::Validator) -> Result<Value, Error> {
    let text = response.text();
    let fault = |message: String| {
        Error::new(ErrorKind::NoObject, message).with_provider(&response.provider).with_body(text.as_bytes())
    };
    let object: Value = serde_json::from_str(&text).map_err(|e| {
        fault(format!("the answer is not JSON: {e} (finish reason: {:?})", response.finish_reason.unified))
    })?;
    validator.check(&object, ErrorKind::NoObject, "the answer").map_err(|e| fault(e.message().to_owned()))?;
    Ok(object)
}
