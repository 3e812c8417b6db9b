//! Records conversations with a provider, and plays them back offline.
//!
//! A recording is a file of JSON lines, one call each: the request, and the answer, the events or
//! the error it got. Keys are not in it, since requests do not hold any.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Middleware, Next};
use crate::{CallCx, Error, ErrorKind, EventStream, Fut, Provider, Request, Response, StreamEvent};

/// One recorded call.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    v: u8,
    key: String,
    request: Request,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Response(Result<Box<Response>, Error>),
    Events { events: Vec<StreamEvent>, error: Option<Error> },
}

/// What makes two requests the same: all of their content.
pub(super) fn key(request: &Request) -> Result<String, Error> {
    let text = serde_json::to_vec(request).map_err(|e| {
        Error::new(ErrorKind::InvalidRequest, "the request cannot be written as JSON").with_source(e)
    })?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(text)))
}

/// Writes every call to a file. A call that is dropped half-way is not written.
#[derive(Clone, Debug)]
pub struct Record {
    file: Arc<Mutex<File>>,
    path: PathBuf,
}

impl Record {
    /// Appends to this file, which is made if it is not there.
    ///
    /// # Errors
    /// `configuration`, naming the file, if it cannot be opened.
    pub fn to(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(|e| {
            Error::configuration(format!("cannot write the recording `{}`: {e}", path.display()))
                .with_source(e)
        })?;
        Ok(Self { file: Arc::new(Mutex::new(file)), path })
    }

    fn write(&self, key: String, request: Request, answer: Answer) -> Result<(), Error> {
        let fault = |e: std::io::Error| {
            Error::configuration(format!("cannot write the recording `{}`: {e}", self.path.display()))
                .with_source(e)
        };
        let mut line =
            serde_json::to_vec(&Line { v: 1, key, request, answer }).map_err(|e| fault(e.into()))?;
        line.push(b'\n');
        // One write for the whole line, so that a crash tears at most the last one.
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line).map_err(fault)
    }
}

impl Middleware for Record {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let key = key(&request)?;
            let result = next.complete(request.clone(), cx).await;
            self.write(key, request, Answer::Response(result.clone().map(Box::new)))?;
            result
        })
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let key = key(&request)?;
            let recorder = self.clone();
            let inner = match next.stream(request.clone(), cx).await {
                Ok(inner) => inner,
                Err(error) => {
                    self.write(key, request, Answer::Events { events: vec![], error: Some(error.clone()) })?;
                    return Err(error);
                }
            };
            let state = (inner, Vec::new(), Some((recorder, key, request)));
            Ok(EventStream::new(stream::unfold(state, |(mut inner, mut events, mut open)| async move {
                let item = inner.next().await?;
                let over = match &item {
                    Ok(event) => {
                        events.push(event.clone());
                        matches!(event, StreamEvent::Finish { .. }).then_some(None)
                    }
                    Err(error) => Some(Some(error.clone())),
                };
                if let Some(error) = over
                    && let Some((recorder, key, request)) = open.take()
                {
                    let events = std::mem::take(&mut events);
                    if let Err(fault) = recorder.write(key, request, Answer::Events { events, error }) {
                        return Some((Err(fault), (inner, vec![], None)));
                    }
                }
                Some((item, (inner, events, open)))
            })))
        })
    }
}

/// Answers from a recording, without a network: the same requests get the same answers, byte for
/// byte. A request that was made several times gets its answers in the order they came.
#[derive(Debug)]
pub struct Replay {
    answers: Mutex<HashMap<String, std::collections::VecDeque<Answer>>>,
    path: PathBuf,
}

impl Replay {
    /// Reads a recording. A torn last line is left out.
    ///
    /// # Errors
    /// `configuration`, naming file and line, if it cannot be read.
    pub fn from(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let fault = |what: String| {
            Error::configuration(format!("cannot read the recording `{}`: {what}", path.display()))
        };
        let lines: Vec<String> = BufReader::new(File::open(&path).map_err(|e| fault(e.to_string()))?)
            .lines()
            .collect::<Result<_, _>>()
            .map_err(|e| fault(e.to_string()))?;
        let mut answers: HashMap<String, std::collections::VecDeque<Answer>> = HashMap::new();
        for (i, text) in lines.iter().enumerate() {
            match serde_json::from_str::<Line>(text) {
                Ok(line) => answers.entry(line.key).or_default().push_back(line.answer),
                Err(_) if i + 1 == lines.len() => {}
                Err(e) => return Err(fault(format!("line {}: {e}", i + 1))),
            }
        }
        Ok(Self { answers: Mutex::new(answers), path })
    }

    fn take(&self, request: &Request) -> Result<Answer, Error> {
        let key = key(request)?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get_mut(&key).and_then(std::collections::VecDeque::pop_front).ok_or_else(|| {
            Error::configuration(format!(
                "the recording `{}` has no answer to this request",
                self.path.display()
            ))
            .with_hint("the request differs from what was recorded, or was made more often; record it anew")
        })
    }
}

impl Provider for Replay {
    fn complete<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            match self.take(&request)? {
                Answer::Response(result) => result.map(|response| *response),
                Answer::Events { events, error } => replayed(events, error).into_response().await,
            }
        })
    }

    fn stream<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            match self.take(&request)? {
                Answer::Events { events, error: Some(error) } if events.is_empty() => Err(error),
                Answer::Events { events, error } => Ok(replayed(events, error)),
                Answer::Response(Err(error)) => Err(error),
                Answer::Response(Ok(_)) => Err(Error::configuration(
                    "the recording has a whole answer to this request, not a streamed one",
                )),
            }
        })
    }
}

impl Middleware for Replay {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        _next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Provider::complete(self, request, cx)
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        _next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        Provider::stream(self, request, cx)
    }
}

fn replayed(events: Vec<StreamEvent>, error: Option<Error>) -> EventStream {
    EventStream::new(stream::iter(events.into_iter().map(Ok).chain(error.map(Err))))
}
