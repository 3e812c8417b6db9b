//! The files that hooks are in: the `hooks` of Claude Code's `settings.json`, or nothing but these.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use junto_core::Leash;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Condition, Hook, HookEvent, Matcher};
use crate::fault::Fault;

/// The longest time that a hook may take.
const LONGEST: Duration = Duration::from_mins(10);

/// What is in a file of hooks.
#[derive(Clone, Debug, Default)]
pub struct HookFile {
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// Those that make no sense; they are left out.
    pub faults: Vec<Fault>,
    /// Events that never happen here, so that their hooks never run.
    pub unused: Vec<String>,
}

type Table<'a> = BTreeMap<String, &'a RawValue>;

#[derive(Deserialize)]
struct Group<'a> {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(borrow)]
    hooks: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    timeout: Option<f64>,
    #[serde(rename = "if")]
    condition: Option<String>,
}

impl HookFile {
    /// Reads a file of hooks, which run on this leash. What makes no sense is a fault of its own and spoils nothing
    /// else; keys that are none of hooks are passed over.
    pub fn read(file: &Path, text: &str, leash: Leash) -> Self {
        let mut read = Self::default();
        let reading = Reading { file, text, leash };
        if let Err(fault) = reading.file(&mut read) {
            read.faults.push(fault);
        }
        read
    }
}

/// A file that is being read.
struct Reading<'a> {
    file: &'a Path,
    text: &'a str,
    leash: Leash,
}

impl Reading<'_> {
    fn file(&self, read: &mut HookFile) -> Result<(), Fault> {
        let table: Table<'_> = self.parse(self.text, 1)?;
        if table.get("disableAllHooks").is_some_and(|raw| raw.get() == "true") {
            return Ok(());
        }
        let events = match table.get("hooks") {
            Some(raw) => self.parse(raw.get(), self.line(raw))?,
            None if table.keys().any(|key| HookEvent::ALL.iter().any(|event| event.name() == key)) => table,
            None => return Ok(()),
        };
        for (name, raw) in events {
            let Some(event) = HookEvent::ALL.into_iter().find(|event| event.name() == name) else {
                read.unused.push(name);
                continue;
            };
            match self.parse::<Vec<&RawValue>>(raw.get(), self.line(raw)) {
                Ok(groups) => groups.into_iter().for_each(|group| self.group(event, group, read)),
                Err(fault) => read.faults.push(fault),
            }
        }
        Ok(())
    }

    fn group(&self, event: HookEvent, raw: &RawValue, read: &mut HookFile) {
        let fault = |message: String| Fault::of(self.file, message).at(self.line(raw));
        let group: Group<'_> = match self.parse(raw.get(), self.line(raw)) {
            Ok(group) => group,
            Err(fault) => return read.faults.push(fault),
        };
        let matcher = match Matcher::read(group.matcher.as_deref().unwrap_or_default()) {
            Ok(matcher) => matcher,
            Err(message) => return read.faults.push(fault(message)),
        };
        for raw in group.hooks {
            match self.hook(event, &matcher, raw) {
                Ok(hook) => read.hooks.push(hook),
                Err(fault) => read.faults.push(fault),
            }
        }
    }

    fn hook(&self, event: HookEvent, matcher: &Matcher, raw: &RawValue) -> Result<Hook, Fault> {
        let line = self.line(raw);
        let fault = |message: String| Fault::of(self.file, message).at(line);
        let Entry { kind, command, args, timeout, condition } = self.parse(raw.get(), line)?;
        if let Some(kind) = kind.filter(|kind| kind != "command") {
            return Err(fault(format!("hooks of the type `{kind}` are not run here, only commands")));
        }
        let command = command.filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| fault("the hook has no command".to_owned()))?;
        let timeout = match timeout {
            Some(seconds) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) if !time.is_zero() => Some(time.min(LONGEST)),
                _ => return Err(fault(format!("{seconds} seconds is no time that a hook may take"))),
            },
            None => None,
        };
        let condition = condition.as_deref().map(Condition::read).transpose().map_err(fault)?;
        let (file, leash, matcher) = (self.file.to_owned(), self.leash, matcher.clone());
        Ok(Hook { event, command, args, timeout, leash, file, line, matcher, condition })
    }

    /// Reads a part of the file that begins in this line.
    fn parse<'t, T: Deserialize<'t>>(&self, text: &'t str, first: usize) -> Result<T, Fault> {
        serde_json::from_str(text).map_err(|error| {
            let told = error.to_string();
            let what = told.split(" at line ").next().unwrap_or_default();
            Fault::of(self.file, format!("not as hooks are written: {what}"))
                .at(first + error.line().max(1) - 1)
        })
    }

    /// The line in which a part of the text begins, from 1. Parts are slices of the text.
    fn line(&self, raw: &RawValue) -> usize {
        let at = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..at).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> HookFile {
        HookFile::read(Path::new("s.json"), text, Leash::Kept)
    }

    #[test]
    fn a_settings_file_is_read_as_it_is() {
        let file = read(
            r#"{
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [
        {"type": "command", "command": "check.sh", "timeout": 2.5},
        {"type": "command", "command": "node", "args": ["a b.js"], "if": "Bash(git *)", "statusMessage": "…"}
      ]}
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "done.sh", "timeout": 99999}]}],
    "Notification": [{"hooks": [{"type": "command", "command": "ding"}]}]
  }
}"#,
        );
        assert!(file.faults.is_empty(), "{:?}", file.faults);
        let told: Vec<_> =
            file.hooks.iter().map(|hook| (hook.event.name(), hook.command.as_str(), hook.line)).collect();
        assert_eq!(told, [("PreToolUse", "check.sh", 6), ("PreToolUse", "node", 7), ("Stop", "done.sh", 10)]);
        assert_eq!(file.hooks[0].timeout, Some(Duration::from_millis(2500)));
        assert_eq!(file.hooks[1].args.as_deref(), Some(&["a b.js".to_owned()][..]));
        assert_eq!(file.hooks[2].timeout, Some(LONGEST));
        assert_eq!(file.unused, ["Notification"]);
        let bare = read(r#"{"Stop": [{"hooks": [{"command": "x"}]}]}"#);
        assert_eq!((bare.hooks.len(), bare.faults.len()), (1, 0));
    }

    #[test]
    fn what_is_not_about_hooks_is_passed_over() {
        for text in
            [r#"{"env": {}}"#, "{}", r#"{"hooks": {}}"#, r#"{"disableAllHooks": true, "hooks": {"Stop": 3}}"#]
        {
            let file = read(text);
            assert!(file.hooks.is_empty() && file.faults.is_empty(), "{text}: {file:?}");
        }
    }

    #[test]
    fn what_is_wrong_names_its_line_and_spoils_nothing_else() {
        let check = |text: &str, line: usize, what: &str, left: usize| {
            let file = read(text);
            let [fault] = &file.faults[..] else { panic!("{file:?}") };
            assert_eq!((fault.line, file.hooks.len()), (Some(line), left), "{fault}");
            assert!(fault.to_string().contains(what), "{fault}");
        };
        check("{\n\"hooks\": {\n", 3, "EOF", 0);
        check("[]", 1, "invalid type", 0);
        check("{\"hooks\": {\"Stop\":\n{}}}", 2, "invalid type", 0);
        let group = |inner: &str| format!("{{\"hooks\": {{\"Stop\": [\n{inner}]}}}}");
        check(
            &group("{\"hooks\": [\n{\"type\": \"prompt\", \"prompt\": \"x\"}, {\"command\": \"x\"}]}"),
            3,
            "`prompt`",
            1,
        );
        check(
            &group("{\"hooks\": [{\"command\": \" \"}]}, {\"hooks\": [{\"command\": \"x\"}]}"),
            2,
            "no command",
            1,
        );
        check(&group("{\"matcher\": \"(\", \"hooks\": []}"), 2, "no pattern", 0);
        check(&group("{\"hooks\": [{\"command\": \"x\", \"timeout\": -1}]}"), 2, "-1 seconds", 0);
        check(&group("{\"hooks\": [{\"command\": \"x\", \"if\": \"Bash(\"}]}"), 2, "closing bracket", 0);
    }
}
