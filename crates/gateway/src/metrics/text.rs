//! The counters as Prometheus reads them.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use super::{BOUNDS, Counters, Histogram, Metrics};

/// The type of that text.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is not counted but looked up when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    /// Calls that run.
    pub(crate) running: usize,
    /// Calls that wait to.
    pub(crate) waiting: usize,
    /// Sessions that are remembered.
    pub(crate) sessions: usize,
}

/// The text of `/metrics`.
pub(crate) fn text(metrics: &Metrics, gauges: Gauges) -> String {
    let mut out = String::with_capacity(8 * 1024);
    // Writing to a string does not fail.
    let _ = write(&mut out, metrics, gauges);
    out
}

fn write(out: &mut String, metrics: &Metrics, gauges: Gauges) -> fmt::Result {
    head(out, "info", "gauge", "The version of the gateway.")?;
    line(out, "info", &[("version", env!("CARGO_PKG_VERSION"))], 1)?;
    let values = [
        ("uptime_seconds", "Seconds since the start.", seconds(metrics.uptime())),
        ("running", "Calls that run.", gauges.running.to_string()),
        ("waiting", "Calls that wait to run.", gauges.waiting.to_string()),
        ("sessions", "Sessions that are remembered.", gauges.sessions.to_string()),
    ];
    for (name, help, value) in values {
        head(out, name, "gauge", help)?;
        line(out, name, &[], value)?;
    }
    counters(out, &metrics.counters())
}

fn counters(out: &mut String, counters: &Counters) -> fmt::Result {
    head(out, "requests_total", "counter", "Requests, by what became of them.")?;
    for (labels, count) in &counters.requests {
        let status = labels.status.map_or("none".to_owned(), |status| status.to_string());
        let labels =
            [("surface", labels.surface), ("route", &labels.route), ("status", &status), ("end", labels.end)];
        line(out, "requests_total", &labels, count)?;
    }
    head(out, "tokens_total", "counter", "Tokens used; cached and reasoning ones are also in the others.")?;
    for (route, used) in &counters.routes {
        let kinds = [
            ("input", Some(used.usage.input)),
            ("output", Some(used.usage.output)),
            ("cache_read", used.usage.cache_read),
            ("cache_write", used.usage.cache_write),
            ("reasoning", used.usage.reasoning),
        ];
        for (kind, tokens) in kinds {
            line(out, "tokens_total", &[("route", route), ("kind", kind)], tokens.unwrap_or_default())?;
        }
    }
    head(out, "cost_usd_total", "counter", "What calls cost, as far as prices are known.")?;
    for (route, used) in &counters.routes {
        line(out, "cost_usd_total", &[("route", route)], used.cost.dollars())?;
    }
    head(out, "unpriced_calls_total", "counter", "Calls whose cost is not known.")?;
    for (route, used) in &counters.routes {
        line(out, "unpriced_calls_total", &[("route", route)], used.unpriced)?;
    }
    let times = [
        ("first_byte_seconds", "The time until an answer began.", &counters.began),
        ("duration_seconds", "The time until an answer was over.", &counters.took),
    ];
    for (name, help, surfaces) in times {
        head(out, name, "histogram", help)?;
        for (surface, histogram) in surfaces {
            times_of(out, name, surface, histogram)?;
        }
    }
    Ok(())
}

fn times_of(out: &mut String, name: &str, surface: &str, histogram: &Histogram) -> fmt::Result {
    let bucket = format!("{name}_bucket");
    let mut below = 0;
    for (bound, count) in BOUNDS.iter().zip(&histogram.buckets) {
        below += count;
        let bound = seconds(Duration::from_millis(*bound));
        line(out, &bucket, &[("surface", surface), ("le", &bound)], below)?;
    }
    line(out, &bucket, &[("surface", surface), ("le", "+Inf")], histogram.count)?;
    line(out, &format!("{name}_sum"), &[("surface", surface)], seconds(histogram.sum))?;
    line(out, &format!("{name}_count"), &[("surface", surface)], histogram.count)
}

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(out, "# HELP junto_gateway_{name} {help}\n# TYPE junto_gateway_{name} {kind}")
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) -> fmt::Result {
    write!(out, "junto_gateway_{name}")?;
    for (at, (label, text)) in labels.iter().enumerate() {
        let before = if at == 0 { '{' } else { ',' };
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        write!(out, "{before}{label}=\"{text}\"")?;
    }
    writeln!(out, "{} {value}", if labels.is_empty() { "" } else { "}" })
}
