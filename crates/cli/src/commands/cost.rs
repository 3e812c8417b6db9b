//! `junto cost`: what model calls used and cost, and why caches were missed.

mod councils;

use std::fmt::Write as _;

use jiff::Timestamp;
use junto::llm::{Cost, SessionId, Usage, Usd};
use junto::store::{By, CacheVerdict, CallFilter, CallRow, CostRow, PrefixPart, explain, table};
use serde_json::{Value, json};

use crate::args::{CostArgs, CostBy};
use crate::commands::models::columns;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::{connect, saved, when};

/// Runs the command.
pub(crate) fn run(args: &CostArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let since = args.since.as_deref().map(|text| when::since(text, Environment::now())).transpose()?;
    let config = Config::load(environment, &[])?;
    let filter = CallFilter { since, ..CallFilter::default() };
    let (calls, deliberations) = match saved::open_existing(&config, environment)? {
        Some(store) => store
            .index()
            .and_then(|index| Ok((index.calls(&CallFilter::default())?, index.deliberations(&filter)?)))
            .map_err(|error| saved::failure(&error))?,
        None => (Vec::new(), Vec::new()),
    };
    let verdicts = explain(&calls, &connect::catalog(&config));
    let recent = |call: &CallRow| since.is_none_or(|since| call.at >= since);
    let missed: Vec<Missed<'_>> = calls
        .iter()
        .zip(verdicts)
        .filter(|(call, _)| args.cache && recent(call))
        .filter_map(|(call, verdict)| Some((call, verdict.filter(|verdict| verdict.is_miss())?)))
        .map(|(call, verdict)| Missed { call, verdict })
        .collect();
    let rows = table(calls.iter().filter(|call| recent(call)).cloned(), by(args.by));
    if args.json {
        let mut report = to_json(args.by, since, &rows);
        if let (true, Some(fields)) = (args.cache, report.as_object_mut()) {
            fields.insert("missed".to_owned(), missed.iter().map(Missed::to_json).collect());
        }
        if let (CostBy::Council, Some(fields)) = (args.by, report.as_object_mut()) {
            fields.insert("deliberations".to_owned(), json!(deliberations));
        }
        output.data(&format!("{report:#}\n"))?;
    } else if rows.is_empty() {
        output.data("no model was asked\n")?;
    } else if args.cache {
        output.data(&missed_table(&missed))?;
    } else {
        output.data(&cost_table(args.by, &rows))?;
        if args.by == CostBy::Council {
            output.data(&councils::sums(&deliberations))?;
        }
    }
    Ok(Exit::Done)
}

fn by(by: CostBy) -> By {
    match by {
        CostBy::Day => By::Day,
        CostBy::Session => By::Session,
        CostBy::Model => By::Model,
        CostBy::Agent => By::Agent,
        CostBy::Council => By::Council,
    }
}

/// What the rows are for, as flags and JSON name it.
fn name(by: CostBy) -> &'static str {
    match by {
        CostBy::Day => "day",
        CostBy::Session => "session",
        CostBy::Model => "model",
        CostBy::Agent => "agent",
        CostBy::Council => "council",
    }
}

fn to_json(by: CostBy, since: Option<Timestamp>, rows: &[CostRow]) -> Value {
    let since = since.map(|since| since.to_string());
    let total = row_json(&CostRow::sum("total", rows));
    let rows: Vec<Value> = rows.iter().map(row_json).collect();
    json!({"by": name(by), "since": since, "rows": rows, "total": total})
}

fn row_json(row: &CostRow) -> Value {
    let Usage { input, output, cache_read, cache_write, reasoning, .. } = &row.usage;
    json!({
        "key": row.key,
        "calls": row.calls,
        "input": input,
        "output": output,
        "cache_read": cache_read,
        "cache_write": cache_write,
        "reasoning": reasoning,
        "cost": cost_json(row),
    })
}

/// A sum of money: what is known of it, how well, and of how many calls nothing is.
pub(super) fn cost_json(row: &CostRow) -> Value {
    let basis = match row.cost() {
        Cost::Reported(_) => "reported",
        Cost::Estimated(_) => "estimated",
        Cost::Unknown => "unknown",
    };
    json!({
        "usd": row.known().dollars(),
        "basis": basis,
        "reported_usd": row.reported.dollars(),
        "estimated_usd": row.estimated.dollars(),
        "unknown_calls": row.unknown,
    })
}

fn cost_table(by: CostBy, rows: &[CostRow]) -> String {
    let heads = [name(by).to_uppercase().as_str(), "CALLS", "IN", "CACHED", "OUT", "COST"].map(str::to_owned);
    let mut lines = vec![heads.to_vec()];
    let key = |row: &CostRow| match by {
        CostBy::Session => saved::short(&SessionId(row.key.clone())).to_owned(),
        _ => row.key.clone(),
    };
    lines.extend(rows.iter().map(|row| cells(key(row), row)));
    if rows.len() > 1 {
        lines.push(cells("total".to_owned(), &CostRow::sum("total", rows)));
    }
    columns(&lines)
}

fn cells(key: String, row: &CostRow) -> Vec<String> {
    let Usage { input, output, cache_read, .. } = &row.usage;
    let cached = cache_read.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    vec![key, row.calls.to_string(), input.to_string(), cached, output.to_string(), in_words(row)]
}

/// A sum of money in words.
fn in_words(row: &CostRow) -> String {
    let known =
        if row.estimated == Usd::ZERO { Cost::Reported(row.reported) } else { Cost::Estimated(row.known()) };
    match row.unknown {
        0 => known.to_string(),
        unknown if unknown == row.calls => Cost::Unknown.to_string(),
        1 => format!("{known}, and 1 call of unknown cost"),
        unknown => format!("{known}, and {unknown} calls of unknown cost"),
    }
}

/// A call that read less from its provider's cache than it could have.
struct Missed<'a> {
    call: &'a CallRow,
    verdict: CacheVerdict,
}

impl Missed<'_> {
    fn to_json(&self) -> Value {
        let CallRow { session, who, turn, at, provider, model, usage, .. } = self.call;
        let mut row = json!({
            "at": at.to_string(),
            "session": session,
            "agent": who,
            "turn": turn,
            "provider": provider,
            "model": model,
            "input": usage.input,
            "cache_read": usage.cache_read,
            "why": self.why(),
        });
        let verdict = serde_json::to_value(self.verdict).ok();
        if let (Some(row), Some(Value::Object(verdict))) = (row.as_object_mut(), verdict) {
            row.extend(verdict);
        }
        row
    }

    /// Why it was missed, in words.
    fn why(&self) -> String {
        let part = |what: PrefixPart| match what {
            PrefixPart::Model => "another model was asked",
            PrefixPart::Tools => "the tools were others",
            PrefixPart::System => "the system prompt was another",
            PrefixPart::Options => "the effort or another option was another",
            PrefixPart::Messages => "the conversation was another",
        };
        match self.verdict {
            CacheVerdict::NotStored => "the provider was not told to keep the request before".to_owned(),
            CacheVerdict::Changed { what, at: Some(at) } => format!("{} from message {at} on", part(what)),
            CacheVerdict::Changed { what, at: None } => part(what).to_owned(),
            CacheVerdict::Expired { after } => {
                format!("it came {after} s after the call before, and the provider had forgotten that")
            }
            CacheVerdict::Unexplained { expected, got } => {
                format!("no reason is known: {got} of {expected} tokens were read")
            }
            CacheVerdict::Hit | CacheVerdict::FirstCall | CacheVerdict::TooShort { .. } => String::new(),
        }
    }
}

fn missed_table(missed: &[Missed<'_>]) -> String {
    if missed.is_empty() {
        return "every call read from the cache what it could\n".to_owned();
    }
    let heads = ["WHEN", "SESSION", "TURN", "MODEL", "IN", "CACHED", "WHY"].map(str::to_owned);
    let mut lines = vec![heads.to_vec()];
    lines.extend(missed.iter().map(|missed| {
        let CallRow { session, who, turn, at, provider, model, usage, .. } = missed.call;
        vec![
            when::minute(*at),
            session.as_ref().map_or_else(|| who.clone(), |id| saved::short(id).to_owned()),
            turn.to_string(),
            format!("{provider}/{model}"),
            usage.input.to_string(),
            usage.cache_read.unwrap_or(0).to_string(),
            missed.why(),
        ]
    }));
    let mut text = columns(&lines);
    let lost: u64 = missed.iter().map(|missed| missed.call.usage.input).sum();
    let _ = writeln!(text, "\n{} calls, {lost} tokens of input", missed.len());
    text
}
