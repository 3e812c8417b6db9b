//! What is said of each call.

use junto::gateway::{CallEnd, CallReport, Via};
use junto::llm::catalog::Catalog;
use junto::llm::{Cost, Error, ErrorKind, Usage, Usd};
use junto::store::{self, Book};
use serde_json::{Value, json};

use crate::config::ProviderSettings;
use crate::failure::Failure;
use crate::output::paint::fit;

/// The most columns of what a provider says of its failure.
const MESSAGE: usize = 200;

/// What councils are called where a provider is named.
const COUNCIL: &str = "council";

/// Makes a line of each report.
pub(super) struct Reporter {
    /// Prices.
    pub(super) catalog: Catalog,
    /// The providers, for the variables that hold their keys.
    pub(super) providers: Vec<ProviderSettings>,
}

impl Reporter {
    /// The line: who answered, what was used or what went wrong, and what to do about it.
    pub(super) fn line(&self, report: &CallReport) -> String {
        let provider = report.provider.as_deref();
        let model = model(report);
        let who = provider.map_or_else(|| "a request".to_owned(), |name| format!("{name}/{model}"));
        let used = || {
            let Usage { input, output, .. } = report.usage;
            let cost = self.cost(report);
            format!("in {input} out {output} · {cost}")
        };
        let what = match &report.end {
            _ if report.via == Some(Via::Gateway) => {
                "nobody was asked: the session has had all its turns".to_owned()
            }
            CallEnd::Complete if report.is_untold() => {
                format!("what it used was not told · {}", Cost::Unknown)
            }
            CallEnd::Complete => used(),
            CallEnd::Unread => "went through; what it used could not be read".to_owned(),
            CallEnd::BrokenOff if report.is_untold() => format!("{} · broken off", Cost::Unknown),
            CallEnd::BrokenOff if report.usage.total == 0 => "broken off".to_owned(),
            CallEnd::BrokenOff => format!("{} · broken off", used()),
            CallEnd::Failed { status, error } => {
                let status = status.map_or("half-way".to_owned(), |status| status.as_u16().to_string());
                let message = error.message().lines().next().unwrap_or_default();
                let failed =
                    format!("failed: {status}, {}: {}", error.kind().as_str(), fit(message, MESSAGE));
                self.hint(provider, error).map_or(failed.clone(), |hint| format!("{failed} · {hint}"))
            }
        };
        format!("{who} · {what}")
    }

    /// What a call cost, as far as that is known.
    pub(super) fn price(&self, report: &CallReport) -> Option<Usd> {
        let provider = report.provider.as_deref()?;
        self.catalog.cost(provider, model(report), &report.usage).amount()
    }

    /// What is said of a call's cost.
    fn cost(&self, report: &CallReport) -> Cost {
        // What is known of a call that did not come to its end is what its provider said at the beginning.
        let is_all = matches!(report.end, CallEnd::Complete) || report.usage.total == 0;
        match &report.provider {
            _ if report.via == Some(Via::Gateway) => Cost::Estimated(Usd::ZERO),
            Some(provider) if is_all && !report.is_untold() => {
                self.catalog.cost(provider, model(report), &report.usage)
            }
            _ => Cost::Unknown,
        }
    }

    /// The same for programs.
    pub(super) fn fields(&self, report: &CallReport) -> serde_json::Value {
        let CallReport { call, session, traffic, provider, usage, .. } = report;
        let (end, status, error) = match &report.end {
            CallEnd::Complete => ("complete", None, None),
            CallEnd::Unread => ("unread", None, None),
            CallEnd::BrokenOff => ("broken_off", None, None),
            CallEnd::Failed { status, error } => {
                ("failed", status.map(|status| status.as_u16()), Some(error.kind().as_str()))
            }
        };
        json!({
            "call": call, "session": session, "traffic": traffic, "provider": provider, "model": model(report),
            "end": end, "status": status, "error": error,
            "input_tokens": usage.input, "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "usd": self.cost(report).amount().map(Usd::dollars),
        })
    }

    /// Writes down what a call used, and how a council answered it, if anything is known of that.
    pub(super) fn book(&self, report: &CallReport, minutes: &[Value], book: &Book) -> store::Result<()> {
        let Some(provider) = report.provider.as_deref() else { return Ok(()) };
        if report.usage.total == 0 && !report.is_untold() && minutes.is_empty() {
            return Ok(());
        }
        let CallReport { call, session, usage, .. } = report;
        // A council is known by its own name, whatever its client calls it.
        let council = minutes.first().and_then(|minutes| minutes["council"].as_str());
        let (provider, model) = council.map_or((provider, model(report)), |name| (COUNCIL, name));
        // What a call that was broken off has cost, its provider alone knows.
        let cost = match report.end {
            CallEnd::Complete if !report.is_untold() => self.catalog.cost(provider, model, usage),
            _ => Cost::Unknown,
        };
        book.record_deliberated(call.clone(), session.clone(), (provider, model), usage, cost, minutes)
    }

    /// What to do about a failure.
    fn hint(&self, provider: Option<&str>, error: &Error) -> Option<String> {
        let Some(provider) = provider else {
            let is_stranger = error.kind() == ErrorKind::Authentication;
            return is_stranger.then(|| "the client must show the key of `gateway.key_env`".to_owned());
        };
        let known = self.providers.iter().find(|known| known.name == provider);
        match known.and_then(|known| known.key_variable.as_deref()) {
            Some(variable) if error.kind() == ErrorKind::Authentication => {
                Some(format!("check the key in {variable}"))
            }
            _ => Failure::from(error.clone()).hint,
        }
    }
}

/// The provider's own name for the model. A client may have named the provider with it.
fn model(report: &CallReport) -> &str {
    let own = report.provider.as_deref().and_then(|name| report.model.strip_prefix(name)?.strip_prefix('/'));
    own.unwrap_or(&report.model)
}
