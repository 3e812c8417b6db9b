//! What calls used, told to whoever keeps the books.

use std::sync::Arc;

use junto_llm::{CallCx, CallId, SessionId, Traffic, Usage};

/// Which way a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By bytes: no middleware of the provider has seen the call, so this report is the only trace
    /// of what it used.
    Passthrough,
    /// Decoded and encoded again: a provider with a ledger of its own has booked it already.
    Translation,
}

/// What one call used.
#[derive(Clone, Debug)]
pub struct UsageReport {
    /// The call.
    pub call: CallId,
    /// The session the client said it belongs to.
    pub session: Option<SessionId>,
    /// What it was for.
    pub traffic: Traffic,
    /// The name of the provider that answered.
    pub provider: String,
    /// The model as that provider was asked for it.
    pub model: String,
    /// Which way it took.
    pub via: Via,
    /// Tokens used, as far as they are known.
    pub usage: Usage,
    /// Whether the answer came to its end. If not, more may have been used than is known.
    pub complete: bool,
}

/// Where reports go.
pub(crate) type Sink = Arc<dyn Fn(UsageReport) + Send + Sync>;

/// Makes the one report of a call: when its end is seen, or with what is known when it is dropped.
/// A call of which nothing is known makes none.
pub(crate) struct Meter {
    sink: Option<Sink>,
    /// Gone once it is made.
    report: Option<UsageReport>,
    has_usage: bool,
}

impl Meter {
    pub(crate) fn new(sink: Option<Sink>, cx: &CallCx, provider: &str, model: &str, via: Via) -> Self {
        let report = UsageReport {
            call: cx.call.clone(),
            session: cx.session.clone(),
            traffic: cx.traffic.clone(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            via,
            usage: Usage::default(),
            complete: false,
        };
        Self { sink, report: Some(report), has_usage: false }
    }

    /// Takes note of usage before the end.
    pub(crate) fn note(&mut self, usage: &Usage) {
        if let Some(report) = &mut self.report {
            report.usage = usage.clone();
            self.has_usage = true;
        }
    }

    /// At the end of the answer.
    pub(crate) fn finish(&mut self, usage: &Usage) {
        self.note(usage);
        if let Some(report) = &mut self.report {
            report.complete = true;
        }
        self.tell();
    }

    fn tell(&mut self) {
        if let (Some(report), Some(sink)) = (self.report.take(), &self.sink) {
            sink(report);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.has_usage {
            self.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn told(by: impl FnOnce(Meter)) -> Vec<(u64, bool)> {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&reports);
        let sink: Sink =
            Arc::new(move |r: UsageReport| book.lock().unwrap().push((r.usage.input, r.complete)));
        by(Meter::new(Some(sink), &CallCx::new(), "p", "m", Via::Translation));
        let reports = reports.lock().unwrap();
        reports.clone()
    }

    #[test]
    fn one_report_at_most() {
        assert_eq!(told(drop), []);
        assert_eq!(told(|mut m| m.note(&Usage::new(3, 0))), [(3, false)]);
        let all = told(|mut m| {
            m.note(&Usage::new(3, 0));
            m.finish(&Usage::new(4, 1));
            m.finish(&Usage::new(9, 9));
        });
        assert_eq!(all, [(4, true)]);
    }
}
