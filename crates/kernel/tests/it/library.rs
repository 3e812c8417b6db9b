//! A host with servers, and a kernel whose code imports their tools.

use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{
    Fut, Listed, Listing, Origin, ToolCall, ToolCx, ToolHost, ToolKind, ToolOutcome, ToolSpec, Via,
};
use junto_kernel::{Discovery, Gentools, Kernel, Limits, SAVE_TOOL, SHELL_LEAVE, SaveTool, ToolSocket};
use serde_json::{Value, json};
use tokio::sync::{Barrier, watch};

use crate::kernels::Place;

/// How many calls of `meet` must be under way for any of them to return.
pub(crate) const MEETING: usize = 8;

/// Tools of two servers and some of its own. Shell lines with `forbidden` in them are refused; those with `wait` wait
/// until they are dropped.
pub(crate) struct Library {
    pub(crate) listed: Mutex<Vec<Listed>>,
    pub(crate) calls: Mutex<Vec<ToolCall>>,
    meeting: Barrier,
    waiting: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
}

pub(crate) fn listed(server: &str, tool: &str, description: &str, parameters: Value) -> Listed {
    let name = if server.is_empty() { tool.to_owned() } else { format!("{server}__{tool}") };
    let origin = Origin { server: server.to_owned(), tool: tool.to_owned() };
    Listed {
        spec: ToolSpec::foreign(name, description, parameters),
        listing: Listing { origin: (!server.is_empty()).then_some(origin), output: None },
    }
}

/// The same, with data.
pub(crate) fn giving(listed: Listed, output: Value) -> Listed {
    Listed { listing: Listing { output: Some(Arc::new(output)), ..listed.listing }, ..listed }
}

fn shelf() -> Vec<Listed> {
    let any = json!({"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}});
    let issue = json!({"type": "object", "required": ["title"], "properties": {
        "title": {"type": "string", "description": "What it is about"},
        "from": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "color": {"type": "string"}}}},
        "parent": {"type": ["integer", "null"]}
    }});
    let created = json!({"type": "object", "required": ["number", "state"], "properties": {
        "number": {"type": "integer"},
        "state": {"enum": ["open", "closed"]},
        "class": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "parent": {"$ref": "#/$defs/parent"}
    }, "$defs": {"parent": {"type": "object", "properties": {"number": {"type": "integer"}}}}});
    let free = ToolKind::Custom { format: None };
    let free = ToolSpec { name: "free".into(), description: "Takes free text.".into(), kind: free };
    let mut shelf = vec![
        Listed { spec: free, listing: Listing::default() },
        listed("", "execute_code", "Runs code.", any.clone()),
        giving(listed("git-hub", "create_issue", "Create an issue. Then it is there.", issue), created),
    ];
    for name in ["echo", "meet", "fail", "refuse", "block"] {
        shelf.push(listed("", name, &format!("The tool {name}."), any.clone()));
    }
    for name in ["a.b", "a-b", "import", "print", "__getattr__"] {
        shelf.push(listed("odd", name, "\"\"\"\nimport os; os._exit(3)\n\\", any.clone()));
    }
    shelf.push(listed("odd", "anything", "Takes anything.", json!({"type": "object"})));
    shelf
}

impl Library {
    fn new() -> Self {
        Self {
            listed: Mutex::new(shelf()),
            calls: Mutex::default(),
            meeting: Barrier::new(MEETING),
            waiting: watch::Sender::default(),
            dropped: watch::Sender::default(),
        }
    }

    /// The shell lines that leave was asked for.
    pub(crate) fn lines(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        let lines = calls.iter().filter(|call| call.name == SHELL_LEAVE);
        lines.map(|call| call.arguments["line"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn forget(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// Waits until so many calls wait.
    pub(crate) async fn waiting(&self, count: usize) {
        self.waiting.subscribe().wait_for(|n| *n >= count).await.unwrap();
    }

    /// Waits until so many of them were dropped.
    pub(crate) async fn dropped(&self, count: usize) {
        self.dropped.subscribe().wait_for(|n| *n >= count).await.unwrap();
    }

    async fn wait(&self) -> ToolOutcome {
        struct Dropped<'a>(&'a watch::Sender<usize>);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|n| *n += 1);
            }
        }
        let _dropped = Dropped(&self.dropped);
        self.waiting.send_modify(|n| *n += 1);
        std::future::pending().await
    }

    fn issue(call: &ToolCall) -> ToolOutcome {
        let data = json!({
            "number": 7, "state": "open", "class": "bug", "labels": [{"name": "x"}], "parent": {"number": 1},
            "more": call.arguments
        });
        let data = match call.arguments["title"].as_str() {
            Some("odd") => json!({"number": "seven"}),
            // As it is after it was read: more than 64 bits.
            Some("vast") => json!({"number": 1_180_591_620_717_411_303_424_f64, "state": "open"}),
            Some("large") => {
                let more = json!({"id": "1180591620717411303424"});
                json!({"number": 7, "state": "open", "mass": 6.022e23, "more": more})
            }
            _ => data,
        };
        let text = match call.arguments["title"].as_str() {
            Some("vast") => r#"{"number": 1180591620717411303424, "state": "open"}"#.to_owned(),
            _ => data.to_string(),
        };
        ToolOutcome { data: Some(Arc::new(data)), ..ToolOutcome::ok(text) }
    }
}

impl ToolHost for Library {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn catalog(&self) -> Vec<Listed> {
        self.listed.lock().unwrap().clone()
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        assert_eq!(via, Via::Cell);
        Box::pin(async move {
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
            let line = call.arguments.get("line").and_then(Value::as_str).unwrap_or_default();
            match call.name.as_str() {
                SHELL_LEAVE if line.contains("forbidden") => ToolOutcome::rejected("the user refused"),
                SHELL_LEAVE if line.contains("wait") => self.wait().await,
                SHELL_LEAVE => ToolOutcome::ok("yes"),
                "fail" => ToolOutcome::error("no luck"),
                "refuse" => ToolOutcome::rejected("the user refused: not today"),
                "block" => self.wait().await,
                "meet" => {
                    self.meeting.wait().await;
                    ToolOutcome::ok("met")
                }
                "git-hub__create_issue" => Self::issue(&call),
                name => ToolOutcome::ok(format!("{name} {}", call.raw_arguments)),
            }
        })
    }
}

/// A kernel with the tools of a library.
pub(crate) struct Reading {
    pub(crate) kernel: Kernel,
    pub(crate) library: Arc<Library>,
    pub(crate) socket: ToolSocket,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) place: Place,
}

impl Reading {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With variables beside.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let library = Arc::new(Library::new());
        let gentools = Gentools::at(place.work().join("gentools"));
        let discovery = Arc::new(Discovery::new(library.clone(), Some(gentools)));
        let socket = ToolSocket::serve_discovery(discovery.clone(), &place.run(), Limits::default()).unwrap();
        let mut setup = place.setup().await.with_tools(&socket);
        setup.variables.extend(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let kernel = Kernel::start(setup).await.unwrap();
        Self { kernel, library, socket, discovery, place }
    }

    /// What a cell prints; it must not fail.
    pub(crate) async fn printed(&self, code: &str) -> String {
        let said = crate::kernels::cell(&self.kernel, code).await;
        assert_eq!(said.error, None, "{code}\n{}", said.traceback);
        assert_eq!(said.stderr, "", "{code}");
        said.stdout + said.result.as_deref().unwrap_or_default()
    }

    /// The exception that a cell ends with.
    pub(crate) async fn raised(&self, code: &str) -> (String, String) {
        let said = crate::kernels::cell(&self.kernel, code).await;
        said.error.unwrap_or_else(|| panic!("{code} raised nothing: {}", said.stdout))
    }

    /// Closes everything; nothing is left.
    pub(crate) async fn end(self) {
        self.kernel.close().await;
        self.socket.close().await;
        let (alive, folders) = self.place.left().await;
        assert!(alive.is_empty() && folders == 0, "{alive:?} {folders}");
    }
}

/// Saves a tool as a session would.
pub(crate) fn saver(place: &Place) -> (SaveTool, ToolCx) {
    let gentools = Gentools::at(place.work().join("gentools"));
    assert_eq!(SAVE_TOOL, "save_code_tool");
    (SaveTool::new(gentools), ToolCx::alone(place.env.clone()))
}
