//! What is counted, as it is told.

use super::*;
use junto_llm::{CallId, Error, ErrorKind, Traffic};

const NO_GAUGES: Gauges = Gauges { running: 1, waiting: 2, sessions: 3 };

fn report(provider: Option<&str>, end: CallEnd) -> CallReport {
    CallReport {
        call: CallId("c".into()),
        session: None,
        traffic: Traffic::Ask,
        provider: provider.map(str::to_owned),
        model: "m".into(),
        via: None,
        usage: Usage { cache_read: Some(30), ..Usage::new(40, 2) },
        end,
        wire: Wire::Anthropic,
        began: Some(Duration::from_millis(7)),
        took: Duration::from_secs(3),
        request_bytes: 900,
    }
}

#[track_caller]
fn holds(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} is not in\n{text}");
    }
}

#[test]
fn calls_are_counted_by_what_became_of_them() {
    let metrics = Metrics::new();
    let failed = CallEnd::Failed {
        status: Some(StatusCode::TOO_MANY_REQUESTS),
        error: Error::new(ErrorKind::RateLimit, "slow"),
    };
    let half_way = CallEnd::Failed { status: None, error: Error::stream("cut") };
    let ok = Some(StatusCode::OK);
    metrics.call(&report(Some("p\"\\\n"), CallEnd::Complete), ok, Cost::Estimated(Usd::from_dollars(0.5)));
    metrics.call(&report(Some("p\"\\\n"), CallEnd::Complete), ok, Cost::Unknown);
    metrics.call(&report(None, failed), None, Cost::Unknown);
    metrics.call(&report(Some("q"), half_way), ok, Cost::Unknown);
    metrics.call(&report(Some("q"), CallEnd::BrokenOff), None, Cost::Unknown);
    metrics.request("models", StatusCode::OK);
    metrics.request("models", StatusCode::FORBIDDEN);
    let text = text(&metrics, NO_GAUGES);
    holds(
        &text,
        &[
            "junto_gateway_running 1",
            "junto_gateway_waiting 2",
            "junto_gateway_sessions 3",
            r#"junto_gateway_requests_total{surface="messages",route="p\"\\\n",status="200",end="complete"} 2"#,
            r#"junto_gateway_requests_total{surface="messages",route="none",status="429",end="failed"} 1"#,
            r#"junto_gateway_requests_total{surface="messages",route="q",status="200",end="failed"} 1"#,
            r#"junto_gateway_requests_total{surface="messages",route="q",status="none",end="broken_off"} 1"#,
            r#"junto_gateway_requests_total{surface="models",route="none",status="200",end="complete"} 1"#,
            r#"junto_gateway_requests_total{surface="models",route="none",status="403",end="failed"} 1"#,
            r#"junto_gateway_tokens_total{route="p\"\\\n",kind="input"} 80"#,
            r#"junto_gateway_tokens_total{route="p\"\\\n",kind="cache_read"} 60"#,
            r#"junto_gateway_cost_usd_total{route="p\"\\\n"} 0.5"#,
            r#"junto_gateway_unpriced_calls_total{route="p\"\\\n"} 1"#,
            r#"junto_gateway_first_byte_seconds_bucket{surface="messages",le="0.005"} 0"#,
            r#"junto_gateway_first_byte_seconds_bucket{surface="messages",le="0.01"} 5"#,
            r#"junto_gateway_first_byte_seconds_bucket{surface="messages",le="+Inf"} 5"#,
            r#"junto_gateway_duration_seconds_sum{surface="messages"} 15"#,
            r#"junto_gateway_duration_seconds_count{surface="messages"} 5"#,
        ],
    );
    let named: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let known = named.iter().any(|named| line.starts_with(named.split(' ').next().unwrap()));
        assert!(known, "{line} has no type");
    }
}

/// What clients choose must not become labels, or be kept whole.
#[test]
fn names_that_clients_choose_are_bounded() {
    let metrics = Metrics::new();
    let mut lines = None;
    for n in 0..1000 {
        let model = format!("{n}-{}", "x".repeat(10_000));
        let call = CallReport { model, ..report(Some("p"), CallEnd::Complete) };
        metrics.call(&call, Some(StatusCode::OK), Cost::Unknown);
        let count = text(&metrics, NO_GAUGES).lines().count();
        assert_eq!(*lines.get_or_insert(count), count);
    }
    let recent = metrics.recent();
    assert_eq!(recent.len(), RECENT);
    assert!(recent[0].model.starts_with("999-") && recent[0].model.len() <= MODEL, "{:?}", recent[0]);
}

#[test]
fn a_time_is_counted_once_wherever_it_falls() {
    let mut histogram = Histogram::default();
    for millis in [0, 1, 2, 3, 300_000, 300_001] {
        histogram.add(Duration::from_millis(millis));
    }
    assert_eq!(histogram.buckets[..3], [2, 1, 1]);
    assert_eq!(histogram.buckets[BOUNDS.len() - 1], 1);
    assert_eq!((histogram.count, histogram.buckets.iter().sum::<u64>()), (6, 5));
}
