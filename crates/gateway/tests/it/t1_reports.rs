//! Whoever looks on is told of every call, also of those that fail.

use http::HeaderMap;
use junto_gateway::{CallEnd, CallReport, Gateway, Target};
use junto_llm::{Error, ErrorKind, Wire};
use junto_twin::{After, Fault, Play, Step};

use crate::scripted::{Cue, shared, start, text};
use crate::support::{House, Reports, Stand, hello, model, passing, translated};

const SURFACES: [Wire; 4] = Wire::ALL;

/// What is told of one request, once everything is over.
async fn told(house: House, reports: Reports, surface: Wire, body: String) -> CallReport {
    house.send(surface, HeaderMap::new(), body).await;
    house.close().await;
    let reports = reports.all();
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    report.clone()
}

/// What is told of a request to a twin.
async fn told_on(s: Stand, surface: Wire, stream: bool) -> CallReport {
    let Stand { twin: _twin, house, reports } = s;
    told(house, reports, surface, hello(surface, stream).to_string()).await
}

/// Checks how a call failed: the provider that was asked, the status, the kind.
#[track_caller]
fn check(report: &CallReport, provider: Option<&str>, status: Option<u16>, kind: ErrorKind) {
    let CallEnd::Failed { status: given, error } = &report.end else { panic!("{report:?}") };
    let found = (report.provider.as_deref(), given.map(|status| status.as_u16()), error.kind());
    assert_eq!(found, (provider, status, kind), "{report:?}");
}

#[tokio::test]
async fn a_refusal_of_the_provider() {
    let refuses =
        || Play::of([Step::fault(Fault { message: Some("said-to-client".into()), ..Fault::status(429) })]);
    for surface in SURFACES {
        for stream in [false, true] {
            let through = told_on(passing(surface, refuses()).await, surface, stream).await;
            check(&through, Some("upstream"), Some(429), ErrorKind::RateLimit);
            assert_eq!(through.model, model(surface));
            assert!(!format!("{through:?}").contains("said-to-client"), "{through:?}");
            let anew = told_on(translated(Wire::Gemini, refuses()).await, surface, stream).await;
            check(&anew, Some("upstream"), Some(429), ErrorKind::RateLimit);
            assert_eq!(anew.model, model(Wire::Gemini));
        }
    }
}

#[tokio::test]
async fn a_provider_that_breaks_off() {
    let breaks = |fault: Fault| {
        Play::of([Step { fault: Some(fault), ..Step::text("word ".repeat(400)) }.without_thinking()])
    };
    for surface in SURFACES {
        let ask = |s: Stand| told_on(s, surface, true);
        let event = || breaks(Fault { error_event: Some(After(6)), ..Fault::default() });
        check(&ask(passing(surface, event()).await).await, Some("upstream"), None, ErrorKind::Server);
        check(&ask(translated(Wire::Chat, event()).await).await, Some("upstream"), None, ErrorKind::Server);
        let cut = || breaks(Fault { drop_after_bytes: Some(After(2500)), ..Fault::default() });
        for s in [passing(surface, cut()).await, translated(Wire::Chat, cut()).await] {
            let report = ask(s).await;
            assert!(matches!(report.end, CallEnd::Failed { status: None, .. }), "{report:?}");
        }
    }
}

#[tokio::test]
async fn what_the_gateway_itself_refuses() {
    for surface in SURFACES {
        let refused = async |gateway: junto_gateway::Builder, body: String| {
            let reports = Reports::default();
            let gateway = gateway.on_call(reports.sink()).build().unwrap();
            told(House::open(&gateway).await, reports, surface, body).await
        };
        let open = |pattern: &str| {
            Gateway::builder().route(pattern, Target::new("s", shared([Cue::Fail(Error::stream("never"))])))
        };
        let no_json = refused(open("*"), "{".to_owned()).await;
        check(&no_json, None, Some(400), ErrorKind::InvalidRequest);
        let elsewhere = refused(open("other"), hello(surface, false).to_string()).await;
        check(&elsewhere, None, Some(404), ErrorKind::NotFound);
        let stranger = refused(open("*").client_key("secret"), hello(surface, false).to_string()).await;
        check(&stranger, None, Some(401), ErrorKind::Authentication);
        let mut odd = hello(surface, false);
        odd["temperature"] = "warm".into();
        odd["generationConfig"] = serde_json::json!({"temperature": "warm"});
        check(&refused(open("*"), odd.to_string()).await, Some("s"), Some(400), ErrorKind::InvalidRequest);
    }
}

#[tokio::test]
async fn an_answer_that_fails_half_way() {
    for surface in SURFACES {
        let mut cues = vec![start()];
        cues.extend(text("half"));
        cues.push(Cue::Fail(Error::new(ErrorKind::Server, "it burst")));
        let reports = Reports::default();
        let gateway = Gateway::builder()
            .route("*", Target::new("s", shared(cues)))
            .on_call(reports.sink())
            .build()
            .unwrap();
        let report =
            told(House::open(&gateway).await, reports, surface, hello(surface, true).to_string()).await;
        check(&report, Some("s"), None, ErrorKind::Server);
    }
}
