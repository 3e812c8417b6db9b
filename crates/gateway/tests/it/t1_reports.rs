//! Whoever looks on is told of every call, also of those that fail.

use http::HeaderMap;
use junto_gateway::{CallEnd, CallReport, Gateway, SessionFile, Target};
use junto_llm::{Error, ErrorKind, Wire};
use junto_twin::{After, Fault, Options, Play, Step, Twin};
use tokio::time::timeout;

use crate::scripted::{Cue, shared, start, text};
use crate::support::{House, Reports, SOON, Stand, hello, model, passing, target, translated};

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

/// A host that panics at what it is told loses that, and nothing of what comes later.
#[tokio::test]
async fn whoever_panics_at_a_report_is_told_of_the_next_one() {
    let twin = Twin::start(Play::text("yes"), Options::default()).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::channel(9);
    let (warn, mut warned) = tokio::sync::mpsc::channel(9);
    let sink = move |report: CallReport| {
        let thread = std::thread::current().name().map(str::to_owned);
        tell.try_send((thread, report.usage.total)).unwrap();
        assert!(report.usage.total == 0, "it does not like it");
    };
    let gateway = Gateway::builder().route("*", target(&twin, Wire::Anthropic)).on_call(sink);
    let gateway = gateway.on_warning(move |text| warn.try_send(text.to_owned()).unwrap()).build().unwrap();
    let house = House::open(&gateway).await;
    for _ in 0..2 {
        let body = hello(Wire::Anthropic, false).to_string();
        assert_eq!(house.send(Wire::Anthropic, HeaderMap::new(), body).await.status, 200);
        let (thread, total) = timeout(SOON, told.recv()).await.unwrap().expect("it is told");
        assert!(thread.as_deref() == Some("junto-reading") && total > 0, "{thread:?}");
        assert!(timeout(SOON, warned.recv()).await.unwrap().expect("it is said").contains("panicked"));
    }
    house.close().await;
}

/// What is not as it should be with the gateway itself is nobody's call, and told all the same.
#[tokio::test]
async fn sessions_that_cannot_be_saved_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let (warn, warned) = std::sync::mpsc::sync_channel(9);
    let target = Target::new("s", shared(Vec::new()));
    let builder =
        Gateway::builder().route("*", target).session_store(SessionFile::new(file.join("sessions")));
    let gateway = builder.on_warning(move |text| warn.send(text.to_owned()).unwrap()).build().unwrap();
    std::fs::write(&file, "").unwrap();
    House::open(&gateway).await.close().await;
    let warning = warned.recv_timeout(SOON).expect("it is said");
    assert!(warning.contains("what sessions have used could not be saved"), "{warning}");
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
