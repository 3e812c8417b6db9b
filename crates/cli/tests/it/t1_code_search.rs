//! Tools for code found by what they mean, with a server of embeddings.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::cells::{Seen, cell, staged, unasked};
use crate::stage::Stage;
use crate::t1_run::of_type;

const KEY: &str = "embeddings-key-71c3";

/// A server that knows what two kinds of words mean, and what it was asked. It lives as long as the test's process.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    fn start(fails: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::default()));
        let notes: Arc<Mutex<Vec<Value>>> = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let heads: Vec<String> = reader
                    .by_ref()
                    .lines()
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .collect();
                let length = heads.iter().find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
                });
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).unwrap();
                let mut body: Value = serde_json::from_slice(&body).unwrap();
                let data: Vec<Value> =
                    body["input"].as_array().unwrap().iter().enumerate().map(vector).collect();
                body["path"] = json!(heads[0]);
                body["is_ours"] = json!(heads.iter().any(|line| line.ends_with(&format!("Bearer {KEY}"))));
                notes.lock().unwrap().push(body);
                let status = if fails { "500 Internal Server Error" } else { "200 OK" };
                let text = json!({"data": data}).to_string();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                    text.len()
                );
            }
        });
        Self { port, asked }
    }

    /// What it was asked, as numbers of texts.
    fn counts(&self) -> Vec<usize> {
        self.asked.lock().unwrap().iter().map(|body| body["input"].as_array().unwrap().len()).collect()
    }
}

/// Colours are alike, and so is everything else.
fn vector((index, text): (usize, &Value)) -> Value {
    let text = text.as_str().unwrap().to_lowercase();
    let is_colour = ["tint", "dye", "hue"].iter().any(|word| text.contains(word));
    json!({"index": index, "embedding": if is_colour { [0.9, 0.1] } else { [-0.1, 0.9] }})
}

fn find(query: &str) -> Step {
    Step::call("find_code_tools", json!({ "query": query }))
}

/// A machine with two tools of the user's own, and this server.
fn stage(steps: impl Into<Vec<Step>>, server: Option<&Server>) -> Stage {
    let embeddings = server.map(|server| {
        format!(
            "embeddings = {{ base_url = \"http://127.0.0.1:{}/v1\", model = \"small\", key_env = \"EMBED_KEY\" }}\n",
            server.port
        )
    });
    let code = format!("gentools = \"~/tools\"\n{}", embeddings.unwrap_or_default());
    let mut stage = staged(Play::of(steps), &code);
    for (name, doc) in [("tint", "Tints a fabric."), ("fold", "Folds a shirt.")] {
        let text = format!("\"\"\"{doc}\"\"\"\ndef run(fabric: str) -> str:\n    pass\n");
        stage.machine.write(&format!("tools/art/{name}.py"), text);
    }
    stage.machine = stage.machine.with("EMBED_KEY", KEY);
    stage
}

fn found(seen: &Seen) -> Vec<String> {
    let ends = of_type(&seen.events, "tool_call_end").into_iter();
    ends.map(|end| end["output"].as_str().unwrap().to_owned()).collect()
}

fn warnings(seen: &Seen) -> Vec<String> {
    let all = of_type(&seen.events, "warning").into_iter().filter(|event| event["code"] == "embeddings");
    all.map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_are_found_by_what_they_mean_as_well_as_by_their_words() {
    let by_code = "import junto_tools\nprint(junto_tools.search_tools('hue', 1))";
    let server = Server::start(false);
    let steps = [find("dye"), find("shirt dye"), cell(by_code), Step::text("Done.")];
    let seen = unasked(&stage(steps, Some(&server)), &[]);
    let said = found(&seen);
    assert!(said[0].starts_with("gentools.art.tint: Tints a fabric.\n"), "{said:?}");
    // One fits by its meaning, the other by a word.
    assert!(said[1].contains("gentools.art.tint: ") && said[1].contains("gentools.art.fold: "), "{said:?}");
    assert!(said[2].contains("gentools.art.tint") && !said[2].contains("fold"), "{said:?}");
    assert_eq!(warnings(&seen), [] as [String; 0]);
    let asked = server.asked.lock().unwrap().clone();
    for body in &asked {
        assert_eq!(body["path"], "POST /v1/embeddings HTTP/1.1");
        assert_eq!((&body["model"], &body["is_ours"]), (&json!("small"), &json!(true)), "{body}");
    }
    // The texts of tools are sent once; then only what is looked for.
    let counts = server.counts();
    assert!(counts[0] > 2 && counts[1..] == [1, 1], "{counts:?}");
    // Without a server there are only words.
    let without = unasked(&stage([find("dye"), find("shirt dye"), Step::text("Done.")], None), &[]);
    let said = found(&without);
    assert!(said[0].starts_with("nothing fits"), "{said:?}");
    assert!(said[1].contains("gentools.art.fold: ") && !said[1].contains("tint"), "{said:?}");
}

#[test]
fn a_server_that_fails_is_told_once_and_words_are_enough() {
    let server = Server::start(true);
    let stage = stage([find("fold"), find("shirt"), Step::text("Done.")], Some(&server));
    let seen = unasked(&stage, &[]);
    for said in found(&seen) {
        assert!(said.starts_with("gentools.art.fold: "), "{said}");
    }
    let told = warnings(&seen);
    assert!(told.len() == 1 && told[0].contains("by words alone") && told[0].contains("500"), "{told:?}");
    assert_eq!(server.counts().len(), 1);
    assert!(!format!("{seen:?}").contains(KEY));
}

#[test]
fn a_server_without_a_model_is_refused() {
    let stage = staged(Play::text("Done."), "embeddings = { base_url = \"http://127.0.0.1:9/v1\" }\n");
    stage.machine.run(&["run", "--code", "Work."]).fails(2, &["code.embeddings.model"]);
}
