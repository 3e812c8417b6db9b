//! Every key of the configuration, in one table: validation, environment variables, `config show`
//! and the guide all follow it.

use super::value::Kind;

/// One known key.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its path; `*` stands for a name of the user's (and, under `models`, for an entry).
    pub(crate) path: &'static str,
    /// What it takes.
    pub(crate) kind: Kind,
    /// Its value where nobody sets one, written as in an environment variable.
    pub(crate) default: Option<&'static str>,
    /// The variable that sets it.
    pub(crate) variable: Option<&'static str>,
    /// The name that frites has for this variable; it counts where the other is not set.
    pub(crate) frites: Option<&'static str>,
    /// What it does.
    pub(crate) about: &'static str,
}

impl Key {
    const fn new(path: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { path, kind, default: None, variable: None, frites: None, about }
    }

    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn var(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }

    const fn also(mut self, frites: &'static str) -> Self {
        self.frites = Some(frites);
        self
    }

    /// The variables that set it, the one that counts more first.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.variable.into_iter().chain(self.frites)
    }

    /// The path's last segment.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

/// The wires by their names in configuration.
pub(crate) const WIRES: &[&str] = &["anthropic", "openai", "gemini", "chat"];

/// Whose names tools have.
pub(crate) const DIALECTS: &[&str] = &["spec", "native"];

/// Which variables commands inherit.
pub(crate) const ENV_POLICIES: &[&str] = &["all", "core", "none"];
/// What can be done when a conversation gets too long for its model.
pub(crate) const OVERFLOWS: &[&str] = &["close", "fail", "compact"];

/// The modes of the policy.
pub(crate) const MODES: &[&str] = &["read-only", "ask", "workspace", "full"];

/// Whether the kernel holds what a mode lets happen.
pub(crate) const SANDBOXES: &[&str] = &["auto", "whole", "off"];

/// What a refusal does.
pub(crate) const ON_REJECTS: &[&str] = &["end_turn", "end_unless_told", "tell_model"];

/// When the journal of a session is forced onto the disk.
pub(crate) const SYNCS: &[&str] = &["always", "turn_ends", "never"];

/// The command-line agents that are shipped.
pub(crate) const RUNNERS: &[&str] = &["claude", "codex", "gemini"];

/// Where a command-line agent keeps its sessions and its login.
pub(crate) const HOMES: &[&str] = &["own", "isolated"];

/// How much the gateway tells of a council's progress.
pub(crate) const DETAILS: &[&str] = &["telemetry", "interleaved"];

/// What the gateway notes, from the most to the least.
pub(crate) const LOG_LEVELS: &[&str] = &["debug", "info", "warn", "error"];

/// How a council makes one answer of several.
pub(crate) const COUNCIL_MODES: &[&str] = &["select", "fuse", "advise"];

/// When a council asks more than one of its members.
pub(crate) const FAN_OUTS: &[&str] = &["never", "always", "necessary", "auto"];

/// Which turns of a tool loop a council may ask several for.
pub(crate) const SCOPES: &[&str] = &["first-turn", "per-turn"];

/// What becomes of a kernel's state when its session is resumed.
pub(crate) const KERNEL_STATES: &[&str] = &["fresh", "replay", "snapshot"];

/// When the files of a project are kept turn by turn.
pub(crate) const SNAPSHOTS: &[&str] = &["auto", "on", "off"];

/// All keys, in the order in which they are shown.
pub(crate) static KEYS: &[Key] = &[
    Key::new("provider", Kind::Text, "the provider to ask when none is named").var("JUNTO_PROVIDER"),
    Key::new("model", Kind::Text, "the model to ask: an id, an alias, or PROVIDER/MODEL").var("JUNTO_MODEL"),
    Key::new("effort", Kind::Text, "how hard the model thinks: low, medium, high, or a provider's own level")
        .var("JUNTO_EFFORT"),
    Key::new("max_tokens", Kind::Count, "the most tokens an answer may have").var("JUNTO_MAX_TOKENS"),
    Key::new("profile", Kind::Text, "how agents treat the model: a profile's name, or a file")
        .var("JUNTO_PROFILE"),
    Key::new("dialect", Kind::Choice(DIALECTS), "whose names the agents' tools have").var("JUNTO_DIALECT"),
    Key::new("instructions", Kind::Text, "what you want of agents whatever their task is")
        .var("JUNTO_INSTRUCTIONS"),
    Key::new("fallback", Kind::Texts, "who takes over, in this order, when a command-line agent cannot work")
        .var("JUNTO_FALLBACK"),
    Key::new("pass_keys", Kind::Flag, "whether command-line agents get your API keys, unless theirs says so")
        .or("false")
        .var("JUNTO_PASS_API_KEYS")
        .also("FRITES_PASS_API_KEYS"),
    Key::new("env_policy", Kind::Choice(ENV_POLICIES), "which variables the agents' commands inherit")
        .or("core")
        .var("JUNTO_ENV_POLICY"),
    Key::new("on_overflow", Kind::Choice(OVERFLOWS), "what is done when a conversation gets too long")
        .or("compact")
        .var("JUNTO_ON_OVERFLOW"),
    Key::new("hooks", Kind::Texts, "files of hooks beside your hooks.json, such as ~/.claude/settings.json")
        .var("JUNTO_HOOKS"),
    Key::new(
        "limits.max_turns",
        Kind::Count,
        "the most turns of an agent: inputs, answers, rounds of results; 0 is no limit",
    )
    .var("JUNTO_MAX_TURNS"),
    Key::new("limits.max_rounds", Kind::Count, "the most rounds of tools for one input; 0 is no limit")
        .var("JUNTO_MAX_ROUNDS"),
    Key::new("limits.max_usd", Kind::Number, "the most dollars that all model calls of a session may cost")
        .var("JUNTO_MAX_USD"),
    Key::new("limits.max_tokens", Kind::Count, "the most tokens that all model calls of a session may use")
        .var("JUNTO_MAX_SESSION_TOKENS"),
    Key::new("store.save", Kind::Flag, "keep sessions, so that they can be resumed")
        .or("true")
        .var("JUNTO_SAVE"),
    Key::new("store.sync", Kind::Choice(SYNCS), "when what was written is forced onto the disk")
        .or("turn_ends")
        .var("JUNTO_SYNC"),
    Key::new(
        "store.snapshots",
        Kind::Choice(SNAPSHOTS),
        "keep the files of each turn, so that they can be brought back; auto: unless the folder is huge",
    )
    .or("auto")
    .var("JUNTO_SNAPSHOTS"),
    Key::new("store.redact", Kind::Flag, "leave secrets out of what is kept").or("true").var("JUNTO_REDACT"),
    Key::new("policy.mode", Kind::Choice(MODES), "what agents may do without being asked")
        .var("JUNTO_POLICY"),
    Key::new(
        "policy.sandbox",
        Kind::Choice(SANDBOXES),
        "whether the kernel holds commands: as well as it can, without any gap, or not at all",
    )
    .or("auto")
    .var("JUNTO_SANDBOX"),
    Key::new(
        "policy.network",
        Kind::Texts,
        "the hosts that commands reach in the sandbox; \"*\" is all of them",
    )
    .var("JUNTO_NETWORK"),
    Key::new(
        "policy.sandbox_config",
        Kind::Text,
        "a file that says more of the sandbox: network, writable, hide, max_processes, max_memory, max_file",
    )
    .var("JUNTO_SANDBOX_CONFIG"),
    Key::new("policy.on_reject", Kind::Choice(ON_REJECTS), "what your no does").var("JUNTO_ON_REJECT"),
    Key::new(
        "policy.approval_timeout",
        Kind::Timeout,
        "how long an agent waits for your leave; then it is a no",
    )
    .var("JUNTO_APPROVAL_TIMEOUT"),
    Key::new(
        "policy.read_before_write",
        Kind::Flag,
        "whether agents must have read a file before they change it",
    )
    .or("false")
    .var("JUNTO_READ_BEFORE_WRITE"),
    Key::new("code.enabled", Kind::Flag, "whether agents have a Python kernel and can act by code")
        .or("false")
        .var("JUNTO_CODE"),
    Key::new(
        "code.python",
        Kind::Text,
        "the Python of the kernel, which has ipykernel; else junto keeps one",
    )
    .var("JUNTO_CODE_PYTHON"),
    Key::new("code.timeout", Kind::Timeout, "how long a cell may take, without the time that you are asked")
        .or("5m")
        .var("JUNTO_CODE_TIMEOUT"),
    Key::new("code.memory", Kind::Count, "how much memory a kernel may take, in MiB; 0 is no limit")
        .or("0")
        .var("JUNTO_CODE_MEMORY"),
    Key::new("code.images", Kind::Text, "the folder for images; else they are kept with the session")
        .var("JUNTO_CODE_IMAGES"),
    Key::new("code.gentools", Kind::Text, "the folder of your own tools for code, CATEGORY/TOOL")
        .var("JUNTO_CODE_GENTOOLS"),
    Key::new(
        "code.resume",
        Kind::Choice(KERNEL_STATES),
        "what becomes of variables when a session is resumed: gone, cells are run again, kept",
    )
    .or("fresh")
    .var("JUNTO_CODE_RESUME"),
    Key::new("code.env.*", Kind::Words, "a variable of the kernel's environment"),
    Key::new(
        "code.embeddings.base_url",
        Kind::Url,
        "an OpenAI-compatible server of embeddings, by which tools for code are found by what they mean",
    ),
    Key::new("code.embeddings.model", Kind::Text, "its model"),
    Key::new("code.embeddings.key_env", Kind::Variable, "the environment variable that holds its key"),
    Key::new("auto_cache", Kind::Flag, "place cache breakpoints on wires that need them")
        .or("true")
        .var("JUNTO_AUTO_CACHE"),
    Key::new("timeouts.connect", Kind::Timeout, "to reach the provider")
        .or("10s")
        .var("JUNTO_CONNECT_TIMEOUT"),
    Key::new(
        "timeouts.request",
        Kind::Timeout,
        "for a whole answer that is not streamed; for clients of the gateway usually 10m",
    )
    .or("2m")
    .var("JUNTO_REQUEST_TIMEOUT"),
    Key::new("timeouts.idle", Kind::Timeout, "between two events of a stream")
        .or("5m")
        .var("JUNTO_IDLE_TIMEOUT"),
    Key::new("timeouts.run", Kind::Timeout, "for all that `junto run` does").var("JUNTO_RUN_TIMEOUT"),
    Key::new("timeouts.command", Kind::Timeout, "for an agent's command, if the model does not say")
        .var("JUNTO_COMMAND_TIMEOUT"),
    Key::new("retry.max_retries", Kind::Count, "how often a failed call is made again")
        .or("2")
        .var("JUNTO_MAX_RETRIES"),
    Key::new("retry.base", Kind::Pause, "the pause before the first retry; it doubles from there")
        .or("1s")
        .var("JUNTO_RETRY_BASE"),
    Key::new("retry.cap", Kind::Pause, "the longest pause").or("1m").var("JUNTO_RETRY_CAP"),
    Key::new("gateway.host", Kind::Text, "the address that the gateway listens on")
        .or("127.0.0.1")
        .var("JUNTO_GATEWAY_HOST")
        .also("FRITES_GATEWAY_HOST"),
    Key::new("gateway.port", Kind::Port, "the port that it listens on; 0 is any that is free")
        .or("6767")
        .var("JUNTO_GATEWAY_PORT")
        .also("FRITES_GATEWAY_PORT"),
    Key::new("gateway.key_env", Kind::Variable, "the variable that holds the key which clients must show")
        .or("JUNTO_GATEWAY_TOKEN")
        .var("JUNTO_GATEWAY_KEY_ENV"),
    Key::new("gateway.council", Kind::Texts, "who sits in the council, each PROVIDER/MODEL or an agent")
        .var("JUNTO_GATEWAY_COUNCIL"),
    Key::new("gateway.progress", Kind::Flag, "stream what providers say about their progress, as reasoning")
        .or("true")
        .var("JUNTO_GATEWAY_PROGRESS"),
    Key::new("gateway.progress_detail", Kind::Choice(DETAILS), "how much is told of it")
        .or("telemetry")
        .var("JUNTO_PROGRESS_DETAIL")
        .also("FRITES_PROGRESS_DETAIL"),
    Key::new("gateway.heartbeat", Kind::Timeout, "how often a council that works in silence says so")
        .or("5s")
        .var("JUNTO_HEARTBEAT_MS")
        .also("FRITES_HEARTBEAT_MS"),
    Key::new("gateway.telemetry", Kind::Timeout, "how often the counters of a council's members are told")
        .or("2s")
        .var("JUNTO_TELEMETRY_MS")
        .also("FRITES_TELEMETRY_MS"),
    Key::new("gateway.keep_alive", Kind::Timeout, "how often a silent stream is kept alive")
        .or("3s")
        .var("JUNTO_GATEWAY_KEEP_ALIVE"),
    Key::new("gateway.grace", Kind::Pause, "how long running answers may take when it is asked to end")
        .or("30s")
        .var("JUNTO_GATEWAY_GRACE"),
    Key::new("gateway.max_running", Kind::Count, "how many calls run at a time")
        .or("4096")
        .var("JUNTO_GATEWAY_MAX_RUNNING"),
    Key::new("gateway.max_waiting", Kind::Count, "how many more may wait; others are refused")
        .or("1024")
        .var("JUNTO_GATEWAY_MAX_WAITING"),
    Key::new("gateway.max_body", Kind::Count, "the largest body of a request, in MiB")
        .or("64")
        .var("JUNTO_GATEWAY_MAX_BODY"),
    Key::new("gateway.client_rate", Kind::Count, "how often one client may ask in a minute; 0 is no limit")
        .or("0")
        .var("JUNTO_GATEWAY_CLIENT_RATE"),
    Key::new(
        "gateway.client_running",
        Kind::Count,
        "how many calls of one client run at a time; 0 is no limit",
    )
    .or("0")
    .var("JUNTO_GATEWAY_CLIENT_RUNNING"),
    Key::new("gateway.max_turns", Kind::Count, "the most turns of a session with a council; 0 is no limit")
        .or("60")
        .var("JUNTO_GATEWAY_MAX_TURNS"),
    Key::new("gateway.max_usd", Kind::Number, "the most dollars that a client's session may cost")
        .var("JUNTO_GATEWAY_MAX_USD"),
    Key::new("gateway.max_tokens", Kind::Count, "the most tokens that a client's session may use")
        .var("JUNTO_GATEWAY_MAX_TOKENS"),
    Key::new(
        "gateway.max_sessions",
        Kind::Count,
        "how many sessions are remembered; then the longest idle goes",
    )
    .or("10000")
    .var("JUNTO_GATEWAY_MAX_SESSIONS"),
    Key::new(
        "gateway.roots",
        Kind::Texts,
        "below which folders a client's working directory may be; your home",
    )
    .var("JUNTO_GATEWAY_ROOTS"),
    Key::new("gateway.hosts", Kind::Texts, "names besides those of this machine that it may be called by")
        .var("JUNTO_GATEWAY_HOSTS"),
    Key::new("gateway.origins", Kind::Texts, "web pages that may use it, such as http://localhost:3000")
        .var("JUNTO_GATEWAY_ORIGINS"),
    Key::new("gateway.log_level", Kind::Choice(LOG_LEVELS), "what it notes on standard error")
        .or("info")
        .var("JUNTO_LOG_LEVEL")
        .also("FRITES_LOG_LEVEL"),
    Key::new("gateway.log_json", Kind::Flag, "note one JSON object in each line")
        .or("false")
        .var("JUNTO_LOG_JSON")
        .also("FRITES_LOG_JSON"),
    Key::new(
        "gateway.routes.*",
        Kind::Route,
        "who answers for a model's name, in which * stands for anything",
    ),
    Key::new("providers.*.wire", Kind::Choice(WIRES), "the wire it speaks"),
    Key::new("providers.*.base_url", Kind::Url, "where it is"),
    Key::new("providers.*.key_env", Kind::Variable, "the environment variable that holds its key"),
    Key::new("providers.*.headers.*", Kind::Header, "a header sent with every request"),
    Key::new("runners.*.like", Kind::Choice(RUNNERS), "the command-line agent that it is run and read like"),
    Key::new("runners.*.definition", Kind::Text, "a file that says how it is run and read"),
    Key::new("runners.*.command", Kind::Texts, "its program, and arguments that come first"),
    Key::new("runners.*.model", Kind::Text, "the model it asks, unless another is named"),
    Key::new("runners.*.effort", Kind::Text, "how hard its model thinks"),
    Key::new(
        "runners.*.max_usd",
        Kind::Number,
        "the most dollars one run may cost, if it can be held to that",
    ),
    Key::new("runners.*.idle", Kind::Timeout, "how long it may be silent"),
    Key::new("runners.*.hard", Kind::Timeout, "how long one run may take"),
    Key::new("runners.*.home", Kind::Choice(HOMES), "where it keeps its sessions and its login"),
    Key::new("runners.*.pass_keys", Kind::Flag, "whether it gets your API keys"),
    Key::new("runners.*.endpoint", Kind::Url, "the server it asks in the place of its vendor's"),
    Key::new(
        "runners.*.key_env",
        Kind::Variable,
        "the environment variable that holds the key for that server",
    ),
    Key::new(
        "council.*.members",
        Kind::Texts,
        "who sits in it: PROVIDER/MODEL, a command-line agent, council:NAME, or a name of yours",
    ),
    Key::new("council.*.judge", Kind::Text, "who chooses where they differ: a member, or another"),
    Key::new("council.*.synthesizer", Kind::Text, "who writes one answer of several in the mode fuse"),
    Key::new("council.*.triage", Kind::Text, "who says, cheaply, whether a question is worth several minds"),
    Key::new("council.*.chores", Kind::Text, "who does a client's chores; else the model that it names"),
    Key::new("council.*.mode", Kind::Choice(COUNCIL_MODES), "how one answer is made of several"),
    Key::new("council.*.fan_out", Kind::Choice(FAN_OUTS), "when more than one of them is asked"),
    Key::new("council.*.scope", Kind::Choice(SCOPES), "for which turns of a tool loop that may be"),
    Key::new("council.*.n", Kind::Count, "how many a turn asks, from the first"),
    Key::new("council.*.quorum", Kind::Count, "how many sound answers are there before the others are late"),
    Key::new("council.*.straggler", Kind::Timeout, "how long the others may take then"),
    Key::new("council.*.within", Kind::Timeout, "how long a turn may take in all"),
    Key::new("council.*.judge_within", Kind::Timeout, "how long the judge may take"),
    Key::new("council.*.max_usd", Kind::Number, "the most dollars that a turn may cost"),
    Key::new("council.*.max_tokens", Kind::Count, "the most tokens that a turn may use"),
    Key::new(
        "council.*.directive",
        Kind::Words,
        "how thorough members shall be: your words, or thorough for ours",
    ),
    Key::new("council.*.member.*.who", Kind::Text, "who sits there, if the member's name does not say it"),
    Key::new("council.*.member.*.framing", Kind::Text, "what this member is told beside the request"),
    Key::new("council.*.member.*.effort", Kind::Text, "how hard it thinks"),
    Key::new("council.*.member.*.max_usd", Kind::Number, "the most dollars of its answer"),
    Key::new("council.*.member.*.max_tokens", Kind::Count, "the most tokens of its answer, in and out"),
    Key::new("council.*.member.*.within", Kind::Timeout, "how long its answer may take"),
    Key::new("council.*.member.*.silence", Kind::Timeout, "how long it may be silent"),
    Key::new(
        "contests.*.agents",
        Kind::Texts,
        "who sits in a council of agents: claude, codex, native:MODEL",
    ),
    Key::new("contests.*.candidates", Kind::Count, "how many candidates there are; the agents take turns"),
    Key::new("contests.*.oracle", Kind::Text, "the checks that decide, as a line for the shell"),
    Key::new("contests.*.synthesis", Kind::Text, "who makes one of several that pass"),
    Key::new("contests.*.with_changes", Kind::Flag, "whether agents begin with what is not committed"),
    Key::new("contests.*.bring", Kind::Texts, "ignored folders that each checkout gets a copy of"),
    Key::new("contests.*.agent_timeout", Kind::Timeout, "how long each agent may work"),
    Key::new("contests.*.oracle_timeout", Kind::Timeout, "how long each step of the checks may take"),
    Key::new("aliases.*", Kind::Text, "another name for a model: \"PROVIDER/MODEL\" or \"MODEL\""),
    Key::new("models.*.id", Kind::Text, "the provider's own id"),
    Key::new("models.*.provider", Kind::Text, "the provider"),
    Key::new("models.*.name", Kind::Text, "a name for people"),
    Key::new("models.*.context_window", Kind::Count, "tokens in and out together"),
    Key::new("models.*.max_output", Kind::Count, "the most tokens of an answer"),
    Key::new("models.*.knowledge_cutoff", Kind::Text, "the month up to which it knows the world"),
    Key::new("models.*.released", Kind::Text, "the day it came out, as \"2026-02-05\""),
    Key::new("models.*.flagship", Kind::Flag, "whether it is asked when no model is named"),
    Key::new("models.*.tools", Kind::Flag, "whether it calls tools"),
    Key::new("models.*.vision", Kind::Flag, "whether it sees pictures"),
    Key::new("models.*.reasoning", Kind::Choice(&["none", "effort", "budget"]), "how it reasons"),
    Key::new("models.*.structured_output", Kind::Flag, "whether it takes a JSON schema"),
    Key::new("models.*.price.input", Kind::Number, "dollars per million tokens of input"),
    Key::new("models.*.price.output", Kind::Number, "of output"),
    Key::new("models.*.price.cache_read", Kind::Number, "of input read from a cache"),
    Key::new("models.*.price.cache_write", Kind::Number, "of input written to a cache"),
    Key::new("models.*.price.long_prompt.above", Kind::Count, "prompts longer than this cost more"),
    Key::new("models.*.price.long_prompt.input", Kind::Number, "by this factor on input"),
    Key::new("models.*.price.long_prompt.output", Kind::Number, "and by this factor on output"),
    Key::new("models.*.aliases", Kind::Texts, "other names"),
];

/// Where the rules of the policy stand.
const RULES: [&str; 2] = ["policy", "rule"];

/// What stands at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A value.
    Value(&'static Key),
    /// A table with keys below it.
    Table,
    /// The list of `[[models]]`.
    Models,
    /// The list of `[[policy.rule]]`, which the policy reads itself.
    Rules,
    /// Nothing we know.
    Unknown,
}

/// Looks up what may stand at this path.
pub(crate) fn place(path: &[String]) -> Place {
    if path.len() == 1 && path.first().is_some_and(|name| name == "models") {
        return Place::Models;
    }
    if path == RULES {
        return Place::Rules;
    }
    let mut place = Place::Unknown;
    for key in KEYS {
        let mut pattern = key.path.split('.');
        if path.iter().all(|name| pattern.next().is_some_and(|p| p == "*" || p == name)) {
            if pattern.next().is_none() {
                return Place::Value(key);
            }
            place = Place::Table;
        }
    }
    place
}

/// The names that may stand directly below this table, in the order of [`KEYS`]. Empty where the
/// user chooses the names.
pub(crate) fn names_below(table: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for key in KEYS {
        let mut pattern = key.path.split('.');
        if table.iter().all(|name| pattern.next().is_some_and(|p| p == "*" || p == name))
            && let Some(next) = pattern.next()
            && next != "*"
            && !names.contains(&next)
        {
            names.push(next);
        }
    }
    if let [table] = table
        && let [policy, rule] = RULES
        && table == policy
    {
        names.push(rule);
    }
    names
}

/// The rank of a key in [`KEYS`].
pub(crate) fn rank(key: &Key) -> usize {
    KEYS.iter().position(|k| k.path == key.path).unwrap_or(KEYS.len())
}

#[cfg(test)]
mod tests;
