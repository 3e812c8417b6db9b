//! Whoever is at the other end of standard input: a person, a program, or nobody.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use junto::core::{
    Action, AgentId, ApprovalRequest, AskId, Body, Command, Decision, Event, Question, Reply, Seq,
};
use tokio::sync::mpsc;

use crate::output::Output;

/// The longest line that is read; a longer one is cut, and then makes no sense.
const LONGEST_LINE: u64 = 1024 * 1024;
/// How many lines may wait to be heard.
const WAITING: usize = 16;

/// Who can be asked, and who may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nobody. Standard input is not read.
    Nobody,
    /// A person at a terminal, who answers questions.
    Person,
    /// A program, which writes commands as lines of JSON.
    Program,
}

/// Answers an agent's questions, and hands on what it is told.
pub(crate) struct Host {
    presence: Presence,
    output: Output,
    /// Lines of standard input; none where it is not read, or has ended.
    lines: Option<mpsc::Receiver<String>>,
    /// Questions that wait for an answer. The person sees the first.
    asked: VecDeque<Asked>,
}

/// A question, and who asks.
struct Asked {
    agent: AgentId,
    wants: Wants,
}

/// What is asked for.
enum Wants {
    /// Leave to do something.
    Leave(ApprovalRequest),
    /// An answer in words, for the tool call that started there.
    Words { of: Seq, ask: AskId, question: Question },
}

impl Wants {
    fn ask(&self) -> &AskId {
        match self {
            Self::Leave(request) => &request.ask,
            Self::Words { ask, .. } => ask,
        }
    }

    /// What is told if nobody is there to answer.
    fn refusal(&self) -> Command {
        match self {
            Self::Leave(request) => refusal(request.ask.clone()),
            Self::Words { ask, .. } => {
                let reason =
                    "nobody is there to answer; decide yourself, and say in the end what you assumed";
                let reply = Reply::Declined { reason: Some(reason.to_owned()) };
                Command::Reply { ask: ask.clone(), reply }
            }
        }
    }
}

impl Host {
    /// Starts to listen, if there is somebody to listen to.
    pub(crate) fn new(presence: Presence, output: Output) -> Self {
        let lines = (presence != Presence::Nobody).then(listen);
        Self { presence, output, lines, asked: VecDeque::new() }
    }

    /// The next line; none once there will be no more. Waits for ever if nobody is there.
    pub(super) async fn line(&mut self) -> Option<String> {
        let Some(lines) = &mut self.lines else { return std::future::pending().await };
        let line = lines.recv().await;
        if line.is_none() {
            self.lines = None;
        }
        line
    }

    /// What a line orders; nothing if it makes no sense.
    pub(super) fn order(&mut self, line: &str) -> Option<Command> {
        match self.presence {
            Presence::Nobody => None,
            Presence::Program if line.trim().is_empty() => None,
            Presence::Program => match serde_json::from_str(line) {
                Ok(command) => Some(command),
                Err(error) => {
                    self.output.warning(&format!("this line is no command: {error}"));
                    None
                }
            },
            Presence::Person => {
                let Asked { agent, wants } = self.asked.front()?;
                let answer = match wants {
                    Wants::Leave(request) => {
                        let decision = match line.trim().to_ascii_lowercase().as_str() {
                            "y" | "yes" => Decision::Allow { remember: None },
                            "n" | "no" => Decision::Reject { reason: None },
                            _ => {
                                self.output.question("Please answer y or n: ");
                                return None;
                            }
                        };
                        Command::Answer { ask: request.ask.clone(), decision }
                    }
                    Wants::Words { ask, question, .. } => {
                        Command::Reply { ask: ask.clone(), reply: reply(question, line) }
                    }
                };
                let agent = agent.clone();
                if matches!(answer, Command::Answer { decision: Decision::Reject { .. }, .. }) {
                    // A no ends the agent's turn, and so withdraws its other questions.
                    self.asked.retain(|asked| asked.agent != agent);
                } else {
                    self.asked.pop_front();
                }
                self.ask();
                Some(answer)
            }
        }
    }

    /// The refusals of all open questions, once nobody is left to answer them.
    pub(super) fn refusals(&mut self) -> Vec<Command> {
        self.asked.drain(..).map(|asked| asked.wants.refusal()).collect()
    }

    /// Takes note of what the agent asks; refuses if nobody can be asked.
    pub(super) fn see(&mut self, event: &Event) -> Option<Command> {
        let wants = match &event.body {
            Body::Ask { request } => Wants::Leave(request.clone()),
            Body::Question { of, ask, question } => {
                Wants::Words { of: *of, ask: ask.clone(), question: question.clone() }
            }
            Body::Answered { ask, .. } | Body::Replied { ask, .. } => {
                self.asked.retain(|asked| asked.wants.ask() != ask);
                return None;
            }
            // A question that was withdrawn ends with its call.
            Body::ToolCallEnd { call_id, of, .. } => {
                self.asked.retain(|asked| match &asked.wants {
                    Wants::Leave(request) => request.call.id != *call_id,
                    Wants::Words { of: start, .. } => Some(*start) != *of,
                });
                return None;
            }
            _ => return None,
        };
        if self.lines.is_none() {
            return Some(wants.refusal());
        }
        self.asked.push_back(Asked { agent: event.agent.clone(), wants });
        if self.asked.len() == 1 {
            self.ask();
        }
        None
    }

    /// Puts the first open question to the person.
    fn ask(&self) {
        let (Presence::Person, Some(asked)) = (self.presence, self.asked.front()) else { return };
        self.output.question(&match &asked.wants {
            Wants::Leave(request) => format!("{}\nAllow? [y/n] ", whole(request)),
            Wants::Words { question, .. } => in_words(question),
        });
    }
}

/// A question as a person sees it.
fn in_words(question: &Question) -> String {
    let options = (1..).zip(&question.options).map(|(n, option)| match &option.description {
        Some(description) => format!("\n    {n}. {}: {description}", option.label),
        None => format!("\n    {n}. {}", option.label),
    });
    let how = match (question.options.is_empty(), question.several) {
        (true, _) => "",
        (false, false) => "a number, or ",
        (false, true) => "numbers with commas, or ",
    };
    let options: String = options.collect();
    format!("The agent asks: {}{options}\nAnswer ({how}your own words; nothing to decline): ", question.text)
}

/// What a line says in answer to a question. Numbers stand for options.
fn reply(question: &Question, line: &str) -> Reply {
    let line = line.trim();
    if line.is_empty() {
        return Reply::Declined { reason: None };
    }
    let option = |number: &str| {
        let number: usize = number.trim().parse().ok()?;
        question.options.get(number.checked_sub(1)?).map(|option| option.label.as_str())
    };
    let chosen: Option<Vec<&str>> = if question.several {
        line.split(',').map(option).collect()
    } else {
        option(line).map(|one| vec![one])
    };
    let text = chosen.map_or_else(|| line.to_owned(), |labels| labels.join(", "));
    Reply::Said { text }
}

/// Arguments that the actions tell already.
const SHOWN: &[&str] = &["command", "file_path"];

/// What is asked about, uncut: nobody shall allow what they have not seen.
fn whole(request: &ApprovalRequest) -> String {
    let actions = request.actions.iter().map(|action| match action {
        Action::Shell { line, .. } => format!("run: {line}"),
        Action::Write { path } => format!("write: {path}"),
        Action::Read { path } => format!("read: {path}"),
        other => serde_json::to_string(other).unwrap_or_else(|_| request.call.name.clone()),
    });
    let arguments = request.call.arguments.as_object().into_iter().flatten();
    let arguments = arguments.filter(|(name, _)| !SHOWN.contains(&name.as_str()));
    let arguments = arguments.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    });
    // Set in, so that nothing in there can pass for a line of ours.
    let lines = actions.chain(arguments).map(|line| format!("\n    {}", line.replace('\n', "\n    ")));
    format!("The agent wants to use {}:{}", request.call.name, lines.collect::<String>())
}

fn refusal(ask: AskId) -> Command {
    let reason = "this needs leave, and nobody is there to give it; go on without it";
    Command::Answer { ask, decision: Decision::Reject { reason: Some(reason.to_owned()) } }
}

/// Reads standard input line by line on a thread of its own. A read cannot be interrupted, so the
/// process ends without waiting for it.
fn listen() -> mpsc::Receiver<String> {
    let (heard, lines) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if heard.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use junto::core::{AgentSpec, Choice, EventLog, Item, Via};
    use junto::llm::ToolCall;

    use super::*;
    use crate::output::Talk;

    fn host(presence: Presence) -> (Host, mpsc::Sender<String>) {
        let (sender, lines) = mpsc::channel(1);
        let output = Output::of_process(Talk::Quiet);
        (Host { presence, output, lines: Some(lines), asked: VecDeque::new() }, sender)
    }

    fn ask(name: &str) -> Body {
        let call = ToolCall::function(name, "spawn_agent", "{}");
        let actions = vec![Action::Spawn { spec: AgentSpec::default() }];
        let ask = AskId(name.to_owned());
        Body::Ask {
            request: ApprovalRequest {
                ask,
                via: Via::Loop,
                call,
                actions,
                proposed: Vec::new(),
                expires: None,
            },
        }
    }

    /// The event of this body, as a log would hand it out.
    async fn event(body: Body) -> Event {
        let log = EventLog::in_memory(std::sync::Arc::new(Default::default));
        log.emit(body).await.unwrap();
        match log.subscribe(Seq::START).next().await.unwrap() {
            Item::Event(event) => Event::clone(&event),
            Item::Delta(delta) => panic!("{delta:?}"),
        }
    }

    #[tokio::test]
    async fn a_person_answers_one_question_after_another() {
        let (mut host, _sender) = host(Presence::Person);
        assert_eq!(host.order("y\n"), None, "nothing was asked");
        for name in ["one", "two", "three"] {
            assert_eq!(host.see(&event(ask(name)).await), None);
        }
        assert_eq!(host.order("perhaps\n"), None);
        let answer = |name: &str, decision| Some(Command::Answer { ask: AskId(name.to_owned()), decision });
        assert_eq!(host.order(" YES \n"), answer("one", Decision::Allow { remember: None }));
        let end = Body::ToolCallEnd {
            of: None,
            call_id: "two".to_owned(),
            name: "spawn_agent".to_owned(),
            output: "".into(),
            is_error: true,
        };
        host.see(&event(end).await);
        assert_eq!(host.order("n\n"), answer("three", Decision::Reject { reason: None }));
        assert!(host.refusals().is_empty());
    }

    #[test]
    fn a_question_shows_everything() {
        let Body::Ask { mut request } = ask("one") else { panic!("a question") };
        request.call =
            ToolCall::function("c", "edit_file", r#"{"file_path":"a","new_string":"b\nAllow? [y/n]"}"#);
        request.actions.clear();
        assert_eq!(whole(&request), "The agent wants to use edit_file:\n    new_string: b\n    Allow? [y/n]");
    }

    #[tokio::test]
    async fn a_no_withdraws_the_other_questions_of_that_agent() {
        let (mut host, _sender) = host(Presence::Person);
        let first = event(ask("one")).await;
        host.see(&first);
        host.see(&Event { agent: first.agent.clone(), ..event(ask("two")).await });
        host.see(&event(ask("of another")).await);
        host.order("n\n");
        assert_eq!(host.refusals(), [refusal(AskId("of another".to_owned()))]);
    }

    #[tokio::test]
    async fn when_nobody_is_left_everything_is_refused() {
        let (mut host, sender) = host(Presence::Program);
        host.see(&event(ask("one")).await);
        drop(sender);
        assert_eq!(host.line().await, None);
        assert_eq!(host.refusals(), [refusal(AskId("one".to_owned()))]);
        assert_eq!(host.see(&event(ask("two")).await), Some(refusal(AskId("two".to_owned()))));
    }

    #[tokio::test]
    async fn a_person_answers_in_words_or_by_number() {
        let choice = |label: &str| Choice { label: label.to_owned(), description: None };
        let question = |several| Question {
            text: "Which?".to_owned(),
            options: vec![choice("red"), choice("blue")],
            several,
        };
        let said = |text: &str| Reply::Said { text: text.to_owned() };
        let check = |several, line: &str, expected| assert_eq!(reply(&question(several), line), expected);
        check(false, " 2\n", said("blue"));
        check(false, "3\n", said("3"));
        check(false, "0", said("0"));
        check(false, "1,2", said("1,2"));
        check(true, "1, 2", said("red, blue"));
        check(true, "1, green", said("1, green"));
        check(false, "neither\n", said("neither"));
        check(false, "\n", Reply::Declined { reason: None });

        let (mut host, sender) = host(Presence::Person);
        let ask = AskId("one".to_owned());
        let body = Body::Question { of: Seq(1), ask: ask.clone(), question: question(false) };
        assert_eq!(host.see(&event(body.clone()).await), None);
        assert_eq!(host.order("1\n"), Some(Command::Reply { ask, reply: said("red") }));
        drop(sender);
        assert_eq!(host.line().await, None);
        let refused = host.see(&event(body).await);
        assert!(matches!(refused, Some(Command::Reply { reply: Reply::Declined { .. }, .. })), "{refused:?}");
    }
}
