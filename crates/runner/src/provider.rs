//! A command as a provider: asked for an answer, and nothing done.

use std::collections::VecDeque;
use std::path::Path;

use futures_util::stream::unfold;
use junto_core::Mode;
use junto_env::RealPath;
use junto_llm::{
    CallCx, CallId, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, LeafCall, Provider, Request,
    Response, SegmentId, StreamEvent, ToolChoice, Usage, Warning,
};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::failure::with_sign_in;
use crate::last_message::LastMessage;
use crate::prompt::{flatten, is_possible};
use crate::run::{Run, Start, Step, directory};
use crate::session::{last_turn, priced};
use crate::share::{Account, Share};
use crate::{CliEvent, Definition, Detail, Host, Invocation, ModelUse, Patience, Purpose, Report, Verdict};

/// A command-line agent that is asked for an answer only: it may look, and do nothing.
///
/// The conversation becomes one prompt. What a command cannot be told (tools of others, sampling)
/// is left out with a warning, and what must not be left out is an error. Its own tool calls are
/// narration. Its usage names what each model used and cost, as the command reported it.
///
/// The working directory and the token that ends the call come from the [`CallCx`]. A working directory that is
/// not there is replaced by an empty one, which is removed afterwards.
/// Cancelling the call, or dropping it, kills the process and everything it started.
#[derive(Clone, Debug)]
pub struct CliProvider {
    definition: Definition,
    host: Host,
}

impl CliProvider {
    /// A provider over a command.
    pub fn new(definition: Definition, host: Host) -> Self {
        Self { definition, host }
    }

    async fn ask(&self, request: Request, cx: &CallCx, detail: Detail) -> Result<Answering, Error> {
        is_possible(&request).map_err(|e| e.with_provider(&self.definition.kind))?;
        let (prompt, warnings) = flatten(&request);
        let share = Share::of(&*cx.budget, &self.definition, cx.depth)
            .map_err(|e| e.with_provider(&self.definition.kind))?;
        let (cwd, scratch) = self.place(cx.workdir.as_deref()).await?;
        // One that is held by us may not be able to write it.
        let last_message = if self.definition.enforces(Mode::ReadOnly) {
            LastMessage::of(&self.definition).map_err(|e| e.with_provider(&self.definition.kind))?
        } else {
            None
        };
        let call = CallId::fresh();
        let start = Run::start(Start {
            definition: &self.definition,
            host: &self.host,
            invocation: Invocation {
                model: request.model.as_deref(),
                max_usd: self.host.most(&self.definition, share.most),
                last_message: last_message.as_ref().map(LastMessage::path),
                ..self.host.invocation(Purpose::Answer, detail)
            },
            call: &call,
            prompt: &prompt,
            dialogue: None,
            cwd,
            patience: self.patience(cx, detail),
        });
        let run = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(self.aborted()),
            run = start => run.map_err(|e| e.with_provider(&self.definition.kind))?,
        };
        Ok(Answering {
            run: Some(run),
            _scratch: scratch,
            last_message,
            account: Account::new(share, cx, &self.definition.kind),
            cancel: cx.cancel.clone(),
            provider: self.definition.kind.clone(),
            cli: self.clone(),
            session: None,
            model: request.model.unwrap_or_default(),
            warnings,
            ready: VecDeque::new(),
            started: false,
            segments: 0,
            texts: 0,
            told: false,
            delivered: false,
            report: None,
            at_rest: false,
            usage: Usage::default(),
            excuse: None,
        })
    }

    /// Where an answer is looked for: the caller's directory if it is there, else an empty one. A caller that
    /// names none is where the environment is.
    async fn place(&self, workdir: Option<&Path>) -> Result<(Option<RealPath>, Option<TempDir>), Error> {
        let failed = |e: Error| e.with_provider(&self.definition.kind);
        match workdir {
            Some(path) if !(path.is_absolute() && path.is_dir()) => {
                let scratch = tempfile::Builder::new().prefix("junto-answer-").tempdir();
                let scratch = scratch.map_err(|e| {
                    failed(Error::configuration(format!("cannot make an empty working directory: {e}")))
                })?;
                let cwd = directory(&self.host, Some(scratch.path())).await.map_err(failed)?;
                Ok((cwd, Some(scratch)))
            }
            workdir => Ok((directory(&self.host, workdir).await.map_err(failed)?, None)),
        }
    }

    fn patience(&self, cx: &CallCx, detail: Detail) -> Patience {
        let Some(timeouts) = cx.timeouts else { return self.host.patience };
        match detail {
            Detail::Whole => Patience { hard: Some(timeouts.request), ..self.host.patience },
            Detail::Deltas => Patience { idle: timeouts.idle, ..self.host.patience },
        }
    }

    fn aborted(&self) -> Error {
        Error::new(ErrorKind::Aborted, "the call was cancelled").with_provider(&self.definition.kind)
    }
}

impl Provider for CliProvider {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        // Texts come whole here, so that nothing is handed on that breaks off and comes again.
        Box::pin(
            async move { self.ask(request, cx, Detail::Whole).await?.into_stream().into_response().await },
        )
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move { Ok(self.ask(request, cx, Detail::Deltas).await?.into_stream()) })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        matches!(choice, ToolChoice::Auto | ToolChoice::None)
    }
}

/// An answer that is under way.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Answering {
    /// Absent once the answer has ended. Dropping it kills the process.
    run: Option<Run>,
    /// Removed with the answer, after the process.
    _scratch: Option<TempDir>,
    /// Where the command writes its final text, if it does.
    last_message: Option<LastMessage>,
    /// Settled when the answer has ended.
    account: Account,
    /// Ends the answer at once.
    cancel: CancellationToken,
    provider: String,
    cli: CliProvider,
    /// The command's own name for its session.
    session: Option<String>,
    /// Empty if nobody has told it yet.
    model: String,
    warnings: Vec<Warning>,
    /// What is to be handed out next.
    ready: VecDeque<Result<StreamEvent, Error>>,
    /// Whether the start was handed out.
    started: bool,
    /// How many segments began.
    segments: u32,
    /// How many of them were texts that said something.
    texts: u32,
    /// Whether the last segment was such a text.
    told: bool,
    /// Whether some of the answer was handed out.
    delivered: bool,
    report: Option<Report>,
    /// Whether nothing was said or done since the last report.
    at_rest: bool,
    usage: Usage,
    excuse: Option<String>,
}

/// How long the end of a process is waited for.
enum Wait {
    /// It has ended, or is about to.
    Grace,
    /// For a moment.
    Courtesy,
    /// Not at all.
    No,
}

impl Answering {
    fn into_stream(self) -> EventStream {
        let stream = unfold(self, |mut answering| async move {
            let event = answering.next().await?;
            Some((event, answering))
        });
        EventStream::new(stream).accumulated()
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let run = self.run.as_mut()?;
            let step = tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    self.fail(Error::new(ErrorKind::Aborted, "the call was cancelled"));
                    continue;
                }
                step = run.next() => step,
            };
            match step {
                Step::Event(event) => {
                    if matches!(event, CliEvent::Report(_)) {
                        self.learn_model().await;
                    }
                    self.take(event);
                    // Nobody waits for a process that has said its last word.
                    if self.report.as_ref().is_some_and(|report| report.last) {
                        self.conclude(Wait::Courtesy).await;
                    }
                }
                Step::Stalled(stall) => {
                    let error = stall.error(&self.provider);
                    let answered = matches!(&self.report, Some(Report { verdict: Verdict::Done, .. }));
                    if answered && self.at_rest {
                        let text = format!("it answered, and was ended: {}", error.message());
                        self.hand_out(StreamEvent::Progress { text });
                        self.conclude(Wait::No).await;
                    } else {
                        self.fail(error);
                    }
                }
                Step::Drained => self.conclude(Wait::Grace).await,
                Step::Closed => self.conclude(Wait::Courtesy).await,
            }
        }
    }

    fn take(&mut self, event: CliEvent) {
        let id = SegmentId(self.segments);
        self.at_rest &= !event.is_work();
        match event {
            CliEvent::Session { id, model } => {
                self.model = model.unwrap_or_else(|| std::mem::take(&mut self.model));
                self.session = Some(id.clone());
                self.start(id);
            }
            CliEvent::TextStart => {
                self.hand_out(StreamEvent::TextStart { id });
                if self.texts > 0 {
                    self.hand_out(StreamEvent::TextDelta { id, text: "\n\n".to_owned() });
                }
            }
            CliEvent::TextDelta(text) => self.hand_out(StreamEvent::TextDelta { id, text }),
            CliEvent::TextEnd(text) => {
                self.told = !text.is_empty();
                self.texts += u32::from(self.told);
                self.end(StreamEvent::TextEnd { id, raw: None });
            }
            CliEvent::ReasoningStart => self.hand_out(StreamEvent::ReasoningStart { id }),
            CliEvent::ReasoningDelta(text) => self.hand_out(StreamEvent::ReasoningDelta { id, text }),
            CliEvent::ReasoningEnd(_) => {
                self.told = false;
                self.end(StreamEvent::ReasoningEnd { id, signature: None, raw: None });
            }
            // Text that was handed on cannot be taken back, and would stand there twice.
            CliEvent::Abandoned if self.told => {
                self.fail(Error::stream("the answer broke off after some of it had been handed on"));
            }
            CliEvent::Abandoned => {
                self.hand_out(StreamEvent::Progress { text: "the answer is begun again".to_owned() });
            }
            CliEvent::ToolStart(call) => {
                self.hand_out(StreamEvent::Progress {
                    text: format!("{} {}", call.name, call.raw_arguments),
                });
            }
            CliEvent::Progress(text) => self.hand_out(StreamEvent::Progress { text }),
            CliEvent::Warning { code, message } => {
                self.hand_out(StreamEvent::Progress { text: format!("{code}: {message}") });
            }
            CliEvent::Retry { attempt, error, .. } => {
                self.hand_out(StreamEvent::Progress { text: format!("retry {attempt}: {error}") });
            }
            CliEvent::Excuse(words) => self.excuse = Some(words),
            CliEvent::Report(report) => {
                // An answer is always a session of its own.
                let told = report.used.since(None, true);
                let is_told = told.is_some();
                let used = told.unwrap_or_default().into_iter();
                let used: Vec<ModelUse> =
                    used.map(|used| priced(used, Some(&self.model), &self.cli.host.catalog)).collect();
                self.account.report(is_told.then_some(&used[..]));
                self.at_rest = true;
                for used in &used {
                    let mut sum = &self.usage + &used.usage;
                    let mut raw = self.usage.raw.take().unwrap_or_else(|| json!({}));
                    raw[&used.model] = used.usage.raw.clone().unwrap_or_default();
                    sum.raw = Some(raw);
                    sum.calls = std::mem::take(&mut self.usage.calls);
                    sum.calls.push(LeafCall {
                        provider: self.provider.clone(),
                        model: used.model.clone(),
                        usage: used.usage.clone(),
                        cost: used.cost,
                    });
                    self.usage = sum;
                }
                self.report = Some(match self.report.take() {
                    Some(before) => before.then(*report),
                    None => *report,
                });
            }
            CliEvent::Turn | CliEvent::ToolEnd { .. } | CliEvent::Plan(_) | CliEvent::Context(_) => {}
        }
    }

    /// Looks for the name of the model where the command wrote it down, if it has not told it.
    async fn learn_model(&mut self) {
        if let (Some(session), true) = (&self.session, self.model.is_empty()) {
            let turn = last_turn(&self.cli.definition, &self.cli.host, session);
            let turn = self.cancel.run_until_cancelled(turn).await.flatten();
            self.model = turn.and_then(|turn| turn.model).unwrap_or_default();
        }
    }

    /// Hands out the start of the answer, once.
    fn start(&mut self, id: String) {
        if !std::mem::replace(&mut self.started, true) {
            self.ready.push_back(Ok(StreamEvent::StreamStart {
                id,
                model: self.model.clone(),
                provider: self.provider.clone(),
                origin: None,
                usage: None,
                warnings: std::mem::take(&mut self.warnings),
                rate_limit: None,
            }));
        }
    }

    fn hand_out(&mut self, event: StreamEvent) {
        self.start(String::new());
        self.delivered |= event.is_content();
        self.ready.push_back(Ok(event));
    }

    fn end(&mut self, event: StreamEvent) {
        self.hand_out(event);
        self.segments += 1;
    }

    /// Ends in an error; the process is killed.
    fn fail(&mut self, error: Error) {
        self.run = None;
        let error = with_sign_in(error, &self.cli.definition.sign_in.how).with_provider(&self.provider);
        self.ready.push_back(Err(if self.delivered { error.after_content() } else { error }));
    }

    /// Ends with what the process said last.
    async fn conclude(&mut self, wait: Wait) {
        let Some(mut run) = self.run.take() else { return };
        let ended = async move {
            // One that lingers has nothing more to do for an answer: it is killed.
            let is_waited_for = match wait {
                Wait::Grace => true,
                Wait::Courtesy => run.courtesy().await,
                Wait::No => false,
            };
            if is_waited_for { Some(run.end().await) } else { None }
        };
        let Some(ending) = self.cancel.run_until_cancelled(ended).await else {
            return self.fail(Error::new(ErrorKind::Aborted, "the call was cancelled"));
        };
        let Some(Report { verdict, text, stop_reason, .. }) = self.report.take() else {
            if let Some(ending) = ending {
                self.fail(ending.without_result(&self.provider, self.excuse.as_deref()));
            }
            return;
        };
        match verdict {
            Verdict::Done => {
                // An answer that no text told beforehand.
                let written = || self.last_message.as_ref().and_then(LastMessage::read).unwrap_or_default();
                let text = if self.texts == 0 && text.is_empty() { written() } else { text };
                if self.texts == 0 && !text.is_empty() {
                    self.take(CliEvent::TextStart);
                    self.take(CliEvent::TextDelta(text.clone()));
                    self.take(CliEvent::TextEnd(text));
                }
                let reason = finish(stop_reason);
                let usage = std::mem::take(&mut self.usage);
                self.hand_out(StreamEvent::Finish { reason, usage, response: None });
            }
            Verdict::Limit(message) => self.fail(Error::new(ErrorKind::Quota, message)),
            Verdict::Interrupted => self.fail(Error::new(ErrorKind::Aborted, "it was interrupted")),
            Verdict::Failed(error) => self.fail(error),
        }
    }
}

/// Why the model stopped. Only what ended well comes here.
fn finish(stop_reason: Option<String>) -> FinishReason {
    let unified = match stop_reason.as_deref() {
        Some("max_tokens") => Finish::Length,
        _ => Finish::Stop,
    };
    FinishReason { unified, raw: stop_reason }
}
