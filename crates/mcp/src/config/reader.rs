//! Reads the form.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::expand::expand;
use super::{Address, Launch, Reach, ServerConfig};

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Its servers, in their order.
    pub servers: Vec<ServerConfig>,
    /// What was passed over, one sentence each.
    pub warnings: Vec<String>,
}

/// What hosts keep under other names, or not at all: the key, and why it does nothing here.
const IDLE: &[(&str, &str)] = &[
    ("alwaysAllow", "rules say what is allowed: allow a tool in the policy"),
    ("autoApprove", "rules say what is allowed: allow a tool in the policy"),
    ("trust", "rules say what is allowed: allow a tool in the policy"),
];

/// Keys that mean nothing to us, and are no mistake.
const SILENT: &[&str] = &["description", "name", "icon", "gallery", "version", "$schema"];

/// Reads a file of the `mcpServers` form. `variables` gives what `${NAME}` in texts stands for.
///
/// ```
/// let text = r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#;
/// let parsed = junto_mcp::config::parse(text, &|_| None).unwrap();
/// assert_eq!(parsed.servers[0].reach.to_string(), "uvx mcp-server-time");
/// ```
///
/// # Errors
/// If it is no JSON, with the line; or has no such form at all.
pub fn parse(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<Parsed, String> {
    let whole: Value = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or_default();
        format!("line {}: it is no JSON: {what}", error.line())
    })?;
    let mut parsed = Parsed::default();
    let Some(whole) = whole.as_object() else { return Err("line 1: expected an object".to_owned()) };
    let named = ["mcpServers", "servers"].iter().find_map(|key| whole.get(*key));
    let Some(entries) = named else {
        return Err("line 1: there is no `mcpServers` in it".to_owned());
    };
    let Some(entries) = entries.as_object() else {
        return Err("`mcpServers` is no object of names and servers".to_owned());
    };
    for (name, entry) in entries {
        let mut reading = Reading { variables, warnings: Vec::new() };
        match reading.server(name, entry) {
            Ok(server) => parsed.servers.push(server),
            Err(why) => reading.warnings.push(format!("it is left out: {why}")),
        }
        let said = reading.warnings.into_iter().map(|warning| format!("server `{name}`: {warning}"));
        parsed.warnings.extend(said);
    }
    Ok(parsed)
}

struct Reading<'a> {
    variables: &'a dyn Fn(&str) -> Option<String>,
    warnings: Vec<String>,
}

impl Reading<'_> {
    fn server(&mut self, name: &str, entry: &Value) -> Result<ServerConfig, String> {
        let Some(entry) = entry.as_object() else { return Err("it is no object".to_owned()) };
        if name.trim().is_empty() {
            return Err("it has no name".to_owned());
        }
        let mut left = entry.clone();
        let reach = self.reach(&mut left)?;
        let mut server = ServerConfig::new(name, reach);
        for key in ["enabled_tools", "enabledTools", "includeTools", "allowedTools"] {
            server.tools.allow.extend(texts(&mut left, key)?);
        }
        for key in ["disabled_tools", "disabledTools", "excludeTools", "deniedTools"] {
            server.tools.deny.extend(texts(&mut left, key)?);
        }
        let times: [(&str, u64, bool); 6] = [
            ("timeout", 1, false),
            ("tool_timeout_sec", 1000, false),
            ("toolTimeout", 1, false),
            ("startupTimeout", 1, true),
            ("startup_timeout_ms", 1, true),
            ("startup_timeout_sec", 1000, true),
        ];
        for (key, unit, is_start) in times {
            let Some(value) = left.remove(key) else { continue };
            let time = duration(&value, unit).ok_or_else(|| format!("`{key}` is no time: {value}"))?;
            *(if is_start { &mut server.start_within } else { &mut server.answer_within }) = time;
        }
        server.sandboxed = flag(&mut left, "sandbox")?.unwrap_or(false);
        server.enabled = flag(&mut left, "enabled")?.unwrap_or(true);
        if flag(&mut left, "disabled")?.unwrap_or(false) {
            server.enabled = false;
        }
        for key in left.keys() {
            match IDLE.iter().find(|(idle, _)| idle == key) {
                Some((_, why)) => self.warnings.push(format!("`{key}` does nothing here; {why}")),
                None if SILENT.contains(&key.as_str()) => {}
                None => self.warnings.push(format!("`{key}` is not known and passed over")),
            }
        }
        Ok(server)
    }

    fn reach(&self, left: &mut Map<String, Value>) -> Result<Reach, String> {
        let kind = text(left, "type")?.or(text(left, "transport")?);
        let urls = ["url", "httpUrl", "serverUrl"].map(|key| text(left, key));
        let mut url = None;
        for given in urls {
            url = url.or(given?);
        }
        let headers = self.pairs(left, &["headers", "http_headers"])?;
        let command = text(left, "command")?;
        let args = texts(left, "args")?;
        let variables = self.pairs(left, &["env"])?;
        let cwd = text(left, "cwd")?.map(|cwd| self.expand(&cwd)).transpose()?;
        match (kind.as_deref(), command, url) {
            (Some("sse"), ..) => {
                Err("its transport, `sse`, was replaced by streamable HTTP; ask for its newer address"
                    .to_owned())
            }
            (None | Some("stdio"), Some(command), _) => {
                let args = args.iter().map(|arg| self.expand(arg)).collect::<Result<_, _>>()?;
                Ok(Reach::Program(Launch { command: self.expand(&command)?, args, variables, cwd }))
            }
            (
                None | Some("http" | "streamable-http" | "streamableHttp" | "streamable_http"),
                _,
                Some(url),
            ) => Ok(Reach::Http(Address { url: self.expand(&url)?, headers })),
            (None, None, None) => Err("it has neither `command` nor `url`".to_owned()),
            (Some(kind), ..) => Err(format!("its type is `{kind}`, and what that needs is not there")),
        }
    }

    fn pairs(
        &self,
        left: &mut Map<String, Value>,
        keys: &[&str],
    ) -> Result<BTreeMap<String, String>, String> {
        let mut pairs = BTreeMap::new();
        for key in keys {
            let Some(value) = left.remove(*key) else { continue };
            let Value::Object(entries) = value else { return Err(format!("`{key}` is no object of texts")) };
            for (name, value) in entries {
                let value = match value {
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    Value::Bool(yes) => yes.to_string(),
                    _ => return Err(format!("`{key}.{name}` is no text")),
                };
                pairs.insert(name, self.expand(&value)?);
            }
        }
        Ok(pairs)
    }

    fn expand(&self, text: &str) -> Result<String, String> {
        expand(text, self.variables)
    }
}

fn text(left: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match left.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is no text")),
    }
}

fn texts(left: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` is no list of texts");
    match left.remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.into_iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn flag(left: &mut Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match left.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(yes)) => Ok(Some(yes)),
        Some(_) => Err(format!("`{key}` is neither true nor false")),
    }
}

/// So many of a unit that has so many milliseconds.
fn duration(value: &Value, unit: u64) -> Option<Duration> {
    if let Some(number) = value.as_u64() {
        return Some(Duration::from_millis(number.checked_mul(unit)?)).filter(|time| !time.is_zero());
    }
    let seconds = value.as_f64()? * Duration::from_millis(unit).as_secs_f64();
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Parsed {
        parse(text, &|name| (name == "KEY").then(|| "k".to_owned())).unwrap()
    }

    #[test]
    fn the_forms_of_other_hosts_are_read() {
        let parsed = read(
            &json!({"mcpServers": {
                "a": {"command": "npx", "args": ["-y", "x"], "env": {"T": "${KEY}", "N": 1}, "cwd": "d"},
                "b": {"type": "http", "url": "https://h/mcp", "headers": {"X": "Bearer ${KEY}"}},
                "c": {"httpUrl": "https://h/", "timeout": 1500, "includeTools": ["r*"], "excludeTools": ["rm"]},
                "d": {"command": "p", "startup_timeout_sec": 0.5, "tool_timeout_sec": 7, "disabled": true},
                "e": {"type": "stdio", "command": "p", "sandbox": true, "enabled": false}
            }})
            .to_string(),
        );
        assert_eq!(parsed.warnings, Vec::<String>::new());
        let [program, http, chosen, timed, kept] = &parsed.servers[..] else { panic!("{parsed:?}") };
        let Reach::Program(launch) = &program.reach else { panic!("{program:?}") };
        assert_eq!((launch.variables["T"].as_str(), launch.variables["N"].as_str()), ("k", "1"));
        assert_eq!((launch.args.join(" ").as_str(), launch.cwd.as_deref()), ("-y x", Some("d")));
        let Reach::Http(address) = &http.reach else { panic!("{http:?}") };
        assert_eq!(address.headers["X"], "Bearer k");
        assert_eq!(chosen.answer_within, Duration::from_millis(1500));
        assert!(chosen.tools.takes("read") && !chosen.tools.takes("rm") && !chosen.tools.takes("x"));
        assert_eq!(
            (timed.start_within, timed.answer_within),
            (Duration::from_millis(500), Duration::from_secs(7))
        );
        assert!(!timed.enabled && !kept.enabled && kept.sandboxed);
    }

    #[test]
    fn one_that_is_wrong_is_named_and_the_others_stay() {
        let parsed = read(
            &json!({"mcpServers": {
                "a": {"args": []},
                "b": {"command": 1},
                "c": {"command": "p", "env": {"T": "${NONE}"}},
                "d": {"type": "sse", "url": "http://h/"},
                "e": {"command": "p", "alwaysAllow": ["x"], "colour": "red", "description": "fine"},
                "f": 3,
                "g": {"command": "p", "timeout": "soon"},
                "h": {"type": "ws", "url": "http://h/"},
                " ": {"command": "p"}
            }})
            .to_string(),
        );
        assert_eq!(parsed.servers.len(), 1);
        assert_eq!(
            parsed.warnings,
            [
                "server `a`: it is left out: it has neither `command` nor `url`",
                "server `b`: it is left out: `command` is no text",
                "server `c`: it is left out: the variable NONE is not set",
                "server `d`: it is left out: its transport, `sse`, was replaced by streamable HTTP; ask for its \
                 newer address",
                "server `e`: `alwaysAllow` does nothing here; rules say what is allowed: allow a tool in the policy",
                "server `e`: `colour` is not known and passed over",
                "server `f`: it is left out: it is no object",
                "server `g`: it is left out: `timeout` is no time: \"soon\"",
                "server `h`: it is left out: its type is `ws`, and what that needs is not there",
                "server ` `: it is left out: it has no name",
            ]
        );
    }

    #[test]
    fn what_is_no_such_file_is_told_with_its_line() {
        let check = |text: &str, expected: &str| assert_eq!(parse(text, &|_| None).unwrap_err(), expected);
        check("{\n \"mcpServers\": {\n", "line 3: it is no JSON: EOF while parsing an object");
        check("[]", "line 1: expected an object");
        check("{}", "line 1: there is no `mcpServers` in it");
        check("{\"mcpServers\": 1}", "`mcpServers` is no object of names and servers");
    }
}
