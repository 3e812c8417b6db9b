//! The boundary between our variables and a child's.
//!
//! A child is full of tools and often allowed everything, so what it gets is written down and nothing is copied:
//! 1. what every program may need (`PATH`, `HOME`, the language, the XDG folders, where tools live, proxies
//!    without a password: [`Inherit::Core`]);
//! 2. what its definition allows by name: the user's sign-in and homes; keys only where that is asked for;
//! 3. what its definition sets.
//!
//! Then whatever could lead it to another server is taken out, also if something above let it in. Only an
//! [`Endpoint`](crate::Endpoint) of the host's, which is deliberate, comes after that. Last are our own marks: how
//! many command-line agents are above, that it is a child, and the token of the run.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use junto_env::variables::Inherit;
use junto_llm::{Error, Secret};

use crate::{CommandLine, Definition, Home, Host};

/// How many command-line agents are above a process, and the same as another program says it.
const DEPTH: [&str; 2] = ["JUNTO_DEPTH", "FRITES_DEPTH"];
/// That a process is a child.
const CHILD: [&str; 2] = ["JUNTO_CHILD", "FRITES_CHILD"];
/// The token of the run.
const TOKEN: &str = "JUNTO_RUN_TOKEN";

/// What leads programs to other servers, by name.
const REDIRECTIONS: &[&str] = &[
    "ANTHROPIC_API_URL",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "CODEX_BASE_URL",
    "CODE_ASSIST_ENDPOINT",
    "GEMINI_BASE_URL",
    "GEMINI_CLI_CUSTOM_HEADERS",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
];

/// How the names of others like them end.
const REDIRECTING: &[&str] = &["_API_BASE", "_API_URL", "_BASE_URL"];

/// All the variables of a child.
pub(crate) fn variables(
    definition: &Definition,
    host: &Host,
    line: &CommandLine,
    token: &Secret,
) -> BTreeMap<String, String> {
    let rules = &definition.variables;
    let passes = |name: &String, value: &Secret| {
        Inherit::Core.lets_through(OsStr::new(name), OsStr::new(value.expose()))
            || rules.allow.contains(name)
            || (host.pass_keys && rules.keys.contains(name))
    };
    let given = host.variables.iter().filter(|(name, value)| passes(name, value));
    let mut variables: BTreeMap<String, String> =
        given.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
    variables.extend(rules.set.clone());
    if let (Home::Isolated(folder), Some(variable)) = (&host.home, &definition.home.variable) {
        variables.insert(variable.clone(), folder.to_string_lossy().into_owned());
    }
    variables.retain(|name, _| !leads_elsewhere(name));
    for name in &rules.blank {
        variables.entry(name.clone()).or_default();
    }
    variables.extend(line.variables.clone());
    let below = depth(&host.variables).saturating_add(1).to_string();
    variables.extend(DEPTH.map(|name| (name.to_owned(), below.clone())));
    variables.extend(CHILD.map(|name| (name.to_owned(), "1".to_owned())));
    variables.insert(TOKEN.to_owned(), token.expose().to_owned());
    variables
}

/// How many command-line agents are above the process that has these variables. A child that does not say how
/// deep it is, or says nonsense, has one above it.
pub(crate) fn depth(given: &BTreeMap<String, Secret>) -> u8 {
    let told = DEPTH.iter().filter_map(|name| given.get(*name)).map(|text| match text.expose() {
        "" => 0,
        text => text.parse().unwrap_or(1),
    });
    let is_child = CHILD.iter().any(|name| given.get(*name).is_some_and(|text| text.expose() == "1"));
    told.max().unwrap_or_default().max(u8::from(is_child))
}

/// The fuse for an agent that starts us, and so itself, again.
///
/// # Errors
/// `configuration` if as many command-line agents are above as may be.
pub(crate) fn fuse(definition: &Definition, host: &Host) -> Result<(), Error> {
    let depth = depth(&host.variables);
    if depth < host.max_depth {
        return Ok(());
    }
    let message = format!(
        "{} is not started below {depth} other command-line agent{}, of which at most {} may be nested",
        definition.kind,
        if depth == 1 { "" } else { "s" },
        host.max_depth
    );
    Err(Error::configuration(message).with_hint("does it call itself through the gateway, or start `junto`?"))
}

fn leads_elsewhere(name: &str) -> bool {
    REDIRECTIONS.contains(&name) || REDIRECTING.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use junto_env::LocalEnvironment;

    use super::*;
    use crate::{Endpoint, Invocation, Purpose};

    fn host(given: &[(&str, &str)]) -> Host {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(value)));
        Host { variables: given.collect(), ..Host::new(Arc::new(LocalEnvironment::new("/").unwrap())) }
    }

    fn of(kind: &str, host: &Host) -> BTreeMap<String, String> {
        let definition = Definition::shipped(kind).unwrap();
        let run = Invocation { endpoint: host.endpoint.as_ref(), ..Invocation::new(Purpose::Answer) };
        let line = definition.command_line(&run).unwrap();
        variables(&definition, host, &line, &Secret::new("t-1"))
    }

    /// Everything that must not get through, and everything that must.
    const GIVEN: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("HOME", "/home/me"),
        ("LC_ALL", "C"),
        ("XDG_CACHE_HOME", "/cache"),
        ("HTTPS_PROXY", "http://proxy"),
        ("HTTP_PROXY", "http://me:password@proxy"),
        ("all_proxy", "socks5://me:password@proxy"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "oauth"),
        ("CODEX_HOME", "/codex"),
        ("GEMINI_CLI_HOME", "/gemini"),
        ("ANTHROPIC_API_KEY", "key-a"),
        ("OPENAI_API_KEY", "key-o"),
        ("CODEX_API_KEY", "key-c"),
        ("GEMINI_API_KEY", "key-g"),
        ("ANTHROPIC_BASE_URL", "http://us"),
        ("OPENAI_BASE_URL", "http://us"),
        ("GOOGLE_GEMINI_BASE_URL", "http://us"),
        ("ANTHROPIC_CUSTOM_HEADERS", "x-y: z"),
        ("AWS_SECRET_ACCESS_KEY", "aws"),
        ("DATABASE_URL", "postgres://me:pw@db"),
        ("NODE_OPTIONS", "--require /evil.js"),
        ("SOMETHING", "else"),
    ];

    #[test]
    fn a_child_gets_what_is_written_down() {
        let marks = "FRITES_CHILD=1 FRITES_DEPTH=1";
        let ours = "JUNTO_CHILD=1 JUNTO_DEPTH=1 JUNTO_RUN_TOKEN=t-1";
        for (kind, pass_keys, expected) in [
            (
                "claude",
                false,
                format!(
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_MAX_RETRIES=3 \
                     CLAUDE_CODE_OAUTH_TOKEN=oauth DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1 \
                     DISABLE_TELEMETRY=1 {marks} HOME=/home/me HTTPS_PROXY=http://proxy {ours} LC_ALL=C PATH=/bin \
                     XDG_CACHE_HOME=/cache"
                ),
            ),
            (
                "codex",
                true,
                format!(
                    "CODEX_API_KEY=key-c CODEX_HOME=/codex {marks} HOME=/home/me HTTPS_PROXY=http://proxy {ours} \
                     LC_ALL=C OPENAI_API_KEY=key-o PATH=/bin XDG_CACHE_HOME=/cache"
                ),
            ),
            (
                "gemini",
                false,
                format!(
                    "CODE_ASSIST_ENDPOINT= {marks} GEMINI_API_KEY= GEMINI_CLI_HOME=/gemini \
                     GEMINI_CLI_NO_RELAUNCH=true GEMINI_CLI_TRUST_WORKSPACE=false GEMINI_TELEMETRY_ENABLED=false \
                     GOOGLE_API_KEY= GOOGLE_GEMINI_BASE_URL= GOOGLE_VERTEX_BASE_URL= HOME=/home/me \
                     HTTPS_PROXY=http://proxy {ours} LC_ALL=C PATH=/bin XDG_CACHE_HOME=/cache"
                ),
            ),
        ] {
            let all = of(kind, &Host { pass_keys, ..host(GIVEN) });
            let all: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(all.join(" "), expected, "{kind}");
        }
    }

    #[test]
    fn keys_are_passed_only_where_that_is_asked_for() {
        for (kind, key) in
            [("claude", "ANTHROPIC_API_KEY"), ("codex", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")]
        {
            let given = |pass_keys| of(kind, &Host { pass_keys, ..host(GIVEN) }).remove(key);
            assert!(given(false).is_none_or(|value| value.is_empty()), "{kind}");
            assert!(given(true).is_some_and(|value| value.starts_with("key-")), "{kind}");
        }
    }

    #[test]
    fn a_definition_lets_no_address_in() {
        let mut definition = Definition::shipped("claude").unwrap();
        for name in ["ANTHROPIC_BASE_URL", "MY_OWN_BASE_URL", "OPENAI_API_BASE"] {
            definition.variables.allow.push(name.to_owned());
            definition.variables.set.insert(name.to_owned(), "http://us".to_owned());
        }
        let host = host(&[("ANTHROPIC_BASE_URL", "http://us"), ("MY_OWN_BASE_URL", "http://us")]);
        let all = variables(&definition, &host, &CommandLine::default(), &Secret::new("t"));
        assert!(!all.values().any(|value| value == "http://us"), "{all:?}");
    }

    #[test]
    fn an_endpoint_is_the_one_way_elsewhere() {
        let endpoint = Some(Endpoint::new("http://there").with_key("k-1"));
        let all = of("claude", &Host { endpoint, ..host(GIVEN) });
        assert_eq!(all["ANTHROPIC_BASE_URL"], "http://there");
        assert_eq!(all["ANTHROPIC_AUTH_TOKEN"], "k-1");
    }

    #[test]
    fn an_isolated_home_is_not_the_users() {
        let home = Home::Isolated("/own".into());
        assert_eq!(of("codex", &Host { home: home.clone(), ..host(GIVEN) })["CODEX_HOME"], "/own");
        assert_eq!(of("claude", &Host { home, ..host(&[]) })["CLAUDE_CONFIG_DIR"], "/own");
        assert!(!of("claude", &host(&[])).contains_key("CLAUDE_CONFIG_DIR"));
    }

    #[test]
    fn whoever_is_below_another_is_not_started_again() {
        for (given, depth) in [
            (&[][..], 0),
            (&[("JUNTO_DEPTH", "1")], 1),
            (&[("FRITES_DEPTH", "2")], 2),
            (&[("JUNTO_DEPTH", "0"), ("FRITES_DEPTH", "1")], 1),
            (&[("JUNTO_CHILD", "1")], 1),
            (&[("FRITES_CHILD", "1"), ("JUNTO_DEPTH", "")], 1),
            (&[("JUNTO_DEPTH", "many")], 1),
            (&[("JUNTO_DEPTH", "-1")], 1),
            (&[("JUNTO_CHILD", "0")], 0),
        ] {
            let host = host(given);
            assert_eq!(super::depth(&host.variables), depth, "{given:?}");
            assert_eq!(of("claude", &host)["JUNTO_DEPTH"], (depth + 1).to_string());
            let definition = Definition::shipped("claude").unwrap();
            assert_eq!(fuse(&definition, &host).is_ok(), depth == 0, "{given:?}");
            assert!(fuse(&definition, &Host { max_depth: 3, ..host }).is_ok());
        }
    }
}
