//! Reading plays from files, and saying what is wrong with them.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error as _};

use super::{Call, Play, Step, Think, ToolRef};
use crate::fault::Fault;

impl Play {
    /// Reads a play from TOML.
    ///
    /// # Errors
    /// If it is no TOML, has a key that is not known, or makes no sense; the message names the
    /// place.
    pub fn from_toml(text: &str) -> Result<Self, PlayError> {
        let play: Self = toml::from_str(text).map_err(PlayError::new)?;
        play.check().map(|()| play)
    }

    /// Reads a play from JSON.
    ///
    /// # Errors
    /// If it is no JSON, has a key that is not known, or makes no sense; the message names the
    /// place.
    pub fn from_json(text: &str) -> Result<Self, PlayError> {
        let play: Self = serde_json::from_str(text).map_err(PlayError::new)?;
        play.check().map(|()| play)
    }

    /// Reads a play from a file: JSON if it is named `*.json`, TOML otherwise.
    ///
    /// # Errors
    /// As [`Play::from_toml`], and if the file cannot be read; the message names the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PlayError> {
        let path = path.as_ref();
        let named = |e: PlayError| PlayError::new(format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(PlayError::new).map_err(named)?;
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            Self::from_json(&text)
        } else {
            Self::from_toml(&text)
        }
        .map_err(named)
    }

    /// Checks what the types do not rule out.
    pub(crate) fn check(&self) -> Result<(), PlayError> {
        if self.steps.is_empty() {
            return Err(PlayError::new("a play needs at least one step"));
        }
        for (i, step) in self.steps.iter().enumerate() {
            step.check().map_err(|e| PlayError::new(format!("step {}: {e}", i + 1)))?;
        }
        Ok(())
    }
}

/// The longest text that `repeat` may make.
const MAX_TEXT: usize = 256 * 1024 * 1024;

impl Step {
    fn check(&self) -> Result<(), String> {
        let long = self.text.as_deref().map_or(0, str::len).saturating_mul(self.repeat.unwrap_or(1) as usize);
        let wrong = [
            (self.chunk == Some(0), "`chunk` must be at least 1"),
            (self.times == Some(0), "`times` must be at least 1"),
            (self.loop_rounds == Some(0), "`loop` must be at least 1"),
            (self.text.is_some() && self.object.is_some(), "`text` and `object` exclude each other"),
            (!self.calls.is_empty() && self.object.is_some(), "`calls` and `object` exclude each other"),
            (self.repeat.is_some() && self.text.is_none(), "`repeat` needs a `text`"),
            (long > MAX_TEXT, "`repeat` makes the text longer than 256 MiB"),
        ];
        if let Some((_, message)) = wrong.iter().find(|(is, _)| *is) {
            return Err((*message).to_owned());
        }
        self.calls.iter().try_for_each(Call::check)?;
        self.fault.as_ref().map_or(Ok(()), Fault::check)
    }
}

impl Call {
    fn check(&self) -> Result<(), String> {
        let given = [self.args.is_some(), self.raw_args.is_some(), self.input.is_some()];
        if given.iter().filter(|is| **is).count() > 1 {
            return Err("a call takes only one of `args`, `raw_args` and `input`".to_owned());
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "`think` is a text, true or false")]
        enum Form {
            Switch(bool),
            Text(String),
        }
        Ok(match Form::deserialize(d)? {
            Form::Switch(true) => Self::On,
            Form::Switch(false) => Self::Off,
            Form::Text(text) => Self::Text(text),
        })
    }
}

impl<'de> Deserialize<'de> for ToolRef {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "`tool` is a name, \"*\" or a place from 0")]
        enum Form {
            Index(usize),
            Name(String),
        }
        match Form::deserialize(d)? {
            Form::Index(index) => Ok(Self::Index(index)),
            Form::Name(name) if name.is_empty() => Err(D::Error::custom("`tool` must not be empty")),
            Form::Name(name) => Ok(Self::named(name)),
        }
    }
}

/// What is wrong with a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayError(String);

impl PlayError {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string().trim_end().to_owned())
    }
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlayError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::{Stop, UsageOverride, When};
    use junto_llm::Wire;
    use serde_json::json;

    #[test]
    fn toml_and_json_say_the_same() {
        let toml = r#"
            [[steps]]
            when = { round = 1, turn = 2, model = "gpt-*", contains = "hi", wire = "openai", after = "ok" }
            times = 3
            think = "hm"
            text = "a"
            calls = [{ tool = "f", args = { x = 1 } }, { tool = "*" }, { tool = 2, raw_args = "{" }]
            usage = { input = 5 }
            finish = "length"

            [[steps]]
            loop = 2
            think = false
            chunk = 3
            delay_ms = 1
            chunk_delay_ms = 2
            fault = { status = 503, times = 1 }
        "#;
        let json = json!({"steps": [
            {"when": {"round": 1, "turn": 2, "model": "gpt-*", "contains": "hi", "wire": "openai", "after": "ok"},
             "times": 3, "think": "hm", "text": "a",
             "calls": [{"tool": "f", "args": {"x": 1}}, {"tool": "*"}, {"tool": 2, "raw_args": "{"}],
             "usage": {"input": 5}, "finish": "length"},
            {"loop": 2, "think": false, "chunk": 3, "delay_ms": 1, "chunk_delay_ms": 2,
             "fault": {"status": 503, "times": 1}},
        ]});
        let play = Play::from_toml(toml).unwrap();
        assert_eq!(Play::from_json(&json.to_string()).unwrap(), play);
        let first = Step {
            when: Some(When {
                round: Some(1),
                turn: Some(2),
                model: Some("gpt-*".into()),
                contains: Some("hi".into()),
                wire: Some(Wire::Responses),
                after: Some("ok".into()),
            }),
            times: Some(3),
            think: Think::Text("hm".into()),
            text: Some("a".into()),
            calls: vec![
                Call::new("f", json!({"x": 1})),
                Call::bare("*"),
                Call { tool: ToolRef::Index(2), ..Call::raw("x", "{") },
            ],
            usage: UsageOverride { input: Some(5), ..UsageOverride::default() },
            finish: Some(Stop::Length),
            ..Step::default()
        };
        let second = Step {
            loop_rounds: Some(2),
            think: Think::Off,
            chunk: Some(3),
            delay_ms: 1,
            chunk_delay_ms: 2,
            fault: Some(Fault { times: Some(1), ..Fault::status(503) }),
            ..Step::default()
        };
        assert_eq!(play, Play::of([first, second]));
    }

    /// A play that is wrong is refused with a message that holds every one of these.
    fn check_refused(toml: &str, says: &[&str]) {
        let error = Play::from_toml(toml).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "{toml}\n{error}");
        }
    }

    #[test]
    fn a_wrong_play_is_refused_by_name() {
        check_refused("[[steps]]\ntxt = 'x'", &["txt", "line 2"]);
        check_refused("[[steps]]\nwhen = { rond = 1 }", &["rond"]);
        check_refused("[[steps]]\ncalls = [{ tool = 'f', arg = {} }]", &["arg"]);
        check_refused("[[steps]]\nfault = { stats = 3 }", &["stats"]);
        check_refused("[[steps]]\nusage = { inputs = 3 }", &["inputs"]);
        check_refused("play = 1", &["play"]);
        check_refused("steps = []", &["at least one step"]);
        check_refused("", &["steps"]);
        check_refused("[[steps]]\n[[steps]]\nchunk = 0", &["step 2", "`chunk`"]);
        check_refused("[[steps]]\ntimes = 0", &["`times`"]);
        check_refused("[[steps]]\nloop = 0", &["`loop`"]);
        check_refused("[[steps]]\ntext = 'a'\nobject = {}", &["exclude"]);
        check_refused("[[steps]]\ncalls = [{tool = 'f'}]\nobject = {}", &["exclude"]);
        check_refused("[[steps]]\ncalls = [{tool = 'f', args = {}, input = ''}]", &["only one"]);
        check_refused("[[steps]]\ncalls = [{tool = true}]", &["`tool` is a name"]);
        check_refused("[[steps]]\nthink = 3", &["`think` is a text"]);
        check_refused("[[steps]]\nfinish = 'never'", &["never"]);
        check_refused("[[steps]]\nwhen = { wire = 'smtp' }", &["smtp"]);
        check_refused("[[steps]]\nfault = { status = 99 }", &["`status`"]);
        check_refused("[[steps]]\nrepeat = 4", &["`repeat`"]);
        check_refused("[[steps]]\ntext = 'abcd'\nrepeat = 4000000000", &["256 MiB"]);
    }

    #[test]
    fn a_file_is_named_in_the_error() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.toml");
        assert!(Play::load(&missing).unwrap_err().to_string().contains("none.toml"));
        let bad = dir.path().join("bad.json");
        std::fs::write(&bad, "{\"steps\": [{\"x\": 1}]}").unwrap();
        let error = Play::load(&bad).unwrap_err().to_string();
        assert!(error.contains("bad.json") && error.contains('x'), "{error}");
        let good = dir.path().join("good.toml");
        std::fs::write(&good, "[[step]]\ntext = 'a'").unwrap();
        assert_eq!(Play::load(&good).unwrap(), Play::text("a"));
    }
}
