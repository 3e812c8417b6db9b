//! What goes on in the gateway, for people (`/status`) and for their programs (`/status.json`).

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, header};
use junto_llm::{Cost, Usd};
use serde::Serialize;

use crate::gateway::Gateway;
use crate::sessions::SessionRecord;

/// How many sessions are listed.
const SESSIONS: usize = 25;
/// The page around what is told. It needs nothing from elsewhere, and loads itself again.
const PAGE: &str = include_str!("status/page.html");
/// Where that goes.
const PLACE: &str = "<!-- status -->";

/// All that is told.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    version: &'static str,
    uptime_seconds: u64,
    running: usize,
    waiting: usize,
    routes: Vec<Route>,
    targets: Vec<Target>,
    /// How many sessions are remembered.
    session_count: usize,
    /// Those that were used last.
    sessions: Vec<SessionRecord>,
    calls: Vec<Call>,
}

/// Where a model's name leads.
#[derive(Debug, Serialize)]
struct Route {
    pattern: String,
    target: String,
    /// The model that the target is asked for; none if it is the one that the client names.
    model: Option<String>,
}

/// What a target has used.
#[derive(Debug, Serialize)]
struct Target {
    name: String,
    calls: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    /// As far as prices are known.
    cost_usd: f64,
    unpriced_calls: u64,
}

/// A call that has ended.
#[derive(Debug, Serialize)]
struct Call {
    seconds_ago: u64,
    surface: &'static str,
    target: String,
    model: String,
    status: Option<u16>,
    end: &'static str,
    input_tokens: u64,
    output_tokens: u64,
    cost: Cost,
    milliseconds: u128,
}

impl Status {
    /// How things stand.
    pub(crate) fn of(gateway: &Gateway) -> Self {
        let (books, admission) = (&gateway.0.books, &gateway.0.admission);
        let route = |(pattern, target): (&str, &crate::Target)| Route {
            pattern: pattern.to_owned(),
            target: target.name.clone(),
            model: target.model.clone(),
        };
        let targets = books.metrics.routes().into_iter().map(|(name, used)| Target {
            name,
            calls: used.calls,
            input_tokens: used.usage.input,
            cached_tokens: used.usage.cache_read.unwrap_or_default(),
            output_tokens: used.usage.output,
            cost_usd: used.cost.dollars(),
            unpriced_calls: used.unpriced,
        });
        let calls = books.metrics.recent().into_iter().map(|call| Call {
            seconds_ago: call.at.elapsed().as_secs(),
            surface: call.surface,
            target: call.route,
            model: call.model,
            status: call.status,
            end: call.end,
            input_tokens: call.input,
            output_tokens: call.output,
            cost: call.cost,
            milliseconds: call.took.as_millis(),
        });
        Self {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: books.metrics.uptime().as_secs(),
            running: admission.running(),
            waiting: admission.waiting(),
            routes: gateway.0.routes.iter().map(route).collect(),
            targets: targets.collect(),
            session_count: books.sessions.len(),
            sessions: books.sessions.latest(SESSIONS),
            calls: calls.collect(),
        }
    }

    /// The page.
    pub(crate) fn page(&self) -> Response {
        let fields = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
            ),
            // The address may hold the key.
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        let mut response = Response::new(Body::from(PAGE.replace(PLACE, &self.tables())));
        let fields: [(HeaderName, HeaderValue); 5] =
            fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        response.headers_mut().extend(fields);
        response
    }

    fn tables(&self) -> String {
        let mut out = format!(
            "<p>Version {}, up for {}. {} running, {} waiting, {} sessions remembered.</p>\n",
            self.version,
            words(Duration::from_secs(self.uptime_seconds)),
            self.running,
            self.waiting,
            self.session_count,
        );
        let routes = self.routes.iter().map(|route| {
            [
                route.pattern.clone(),
                route.target.clone(),
                route.model.clone().unwrap_or("as asked".to_owned()),
            ]
        });
        table(&mut out, "Routes", ["Model", "Target", "Asked for"], routes);
        let targets = self.targets.iter().map(|target| {
            let unpriced = match target.unpriced_calls {
                0 => String::new(),
                calls => format!(" and {calls} calls whose price is not known"),
            };
            [
                target.name.clone(),
                target.calls.to_string(),
                target.input_tokens.to_string(),
                target.cached_tokens.to_string(),
                target.output_tokens.to_string(),
                format!("{}{unpriced}", Usd::from_dollars(target.cost_usd)),
            ]
        });
        table(
            &mut out,
            "Used",
            ["Target", "Calls", "Tokens in", "of them cached", "Tokens out", "Cost"],
            targets,
        );
        let sessions = self.sessions.iter().map(|session| {
            let (tokens, cost) = (session.tokens.to_string(), session.cost.to_string());
            [session.id.to_string(), session.turns.to_string(), tokens, cost]
        });
        table(&mut out, "Sessions used last", ["Session", "Council turns", "Tokens", "Cost"], sessions);
        let calls = self.calls.iter().map(|call| {
            let status = call.status.map_or("none".to_owned(), |status| status.to_string());
            [
                format!("{} ago", words(Duration::from_secs(call.seconds_ago))),
                call.surface.to_owned(),
                format!("{} {}", call.target, call.model),
                format!("{status} {}", call.end.replace('_', " ")),
                call.input_tokens.to_string(),
                call.output_tokens.to_string(),
                call.cost.to_string(),
                format!("{} ms", call.milliseconds),
            ]
        });
        let heads = ["When", "Surface", "Asked", "Result", "Tokens in", "Tokens out", "Cost", "Took"];
        table(&mut out, "Calls that ended last", heads, calls);
        out
    }
}

fn table<const N: usize>(
    out: &mut String,
    title: &str,
    heads: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    let row = |tag: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let heads = row("th", &heads.map(str::to_owned));
    let rows: String = rows.map(|cells| row("td", &cells)).collect();
    let none = if rows.is_empty() { "<p>None yet.</p>\n" } else { "" };
    out.push_str(&format!("<h2>{}</h2>\n<table>\n{heads}{rows}</table>\n{none}", escaped(title)));
}

/// Text that means nothing to a browser but itself.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A time in its two largest units.
fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_told_is_taken_for_markup() {
        assert_eq!(escaped("<a b='c' d=\"e\">&amp;"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;amp;");
        let mut out = String::new();
        table(&mut out, "<t>", ["<h>"], [["<script>".to_owned()]].into_iter());
        assert!(!out.contains("<script>") && !out.contains("<h>") && !out.contains("<t>"), "{out}");
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        assert!(PAGE.contains(PLACE));
        for word in ["<script", "src=", "href=", "http:", "https:", "@import", "url("] {
            assert!(!PAGE.contains(word), "{word}");
        }
    }

    #[test]
    fn times_in_words() {
        let check = |seconds, expected: &str| assert_eq!(words(Duration::from_secs(seconds)), expected);
        check(0, "0 s");
        check(61, "1 min 1 s");
        check(3600, "1 h 0 min");
        check(90_061, "1 d 1 h");
    }
}
