//! The gateways of others, each set up as its own manual says, in front of the same model.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::clients::OwnedAim;
use super::server::Server;
use crate::Outcome;
use crate::cache::{self, Cache};
use crate::command::{self, capture, root};
use crate::setup;

/// The router, by version and hash.
const PACKAGES: &str = include_str!("../../../tests/peers/router/package.json");
const LOCK: &str = include_str!("../../../tests/peers/router/package-lock.json");
const ROUTER: &str = "node_modules/@musistudio/claude-code-router/dist/cli.js";

/// A gateway of others, and what it is asked for.
pub(super) struct Other {
    pub(super) name: String,
    pub(super) aim: OwnedAim,
    pub(super) server: std::rc::Rc<Server>,
}

/// Starts them. The router is left out, with a word, where it cannot be installed.
pub(super) fn start(upstream: &str, scratch: &Path) -> Outcome<Vec<Other>> {
    let mut others = litellm(upstream, scratch)?;
    match router(upstream, scratch) {
        Ok(router) => others.push(router),
        Err(why) => println!("claude-code-router is left out: {why}"),
    }
    Ok(others)
}

/// On the wire that is ours by bytes, and on the one that is its own.
fn litellm(upstream: &str, scratch: &Path) -> Outcome<Vec<Other>> {
    let python = setup::python()?;
    let config = scratch.join("litellm.yaml");
    let model = |name: &str, model: &str, base: &str| {
        let params =
            json!({"model": model, "api_base": format!("http://{upstream}{base}"), "api_key": "any"});
        json!({"model_name": name, "litellm_params": params})
    };
    // JSON is YAML.
    let text = json!({
        "model_list": [model("claude", "anthropic/claude-opus-5-5", ""), model("gpt", "openai/gpt-5.5", "/v1")],
        "litellm_settings": {"telemetry": false, "num_retries": 0},
    });
    write(&config, &text.to_string())?;
    let version = "import importlib.metadata; print(importlib.metadata.version('litellm'))";
    let version = capture(Command::new(&python).args(["-c", version]))?;
    let mut command = Command::new(&python);
    command.arg(root().join("tests/peers/litellm_server.py")).arg(&config);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let server = std::rc::Rc::new(Server::announced(command, &scratch.join("litellm.log"))?);
    let key = server.key.clone().ok_or("litellm has no key")?;
    let asked = [("anthropic", "claude"), ("chat", "gpt")];
    Ok(asked
        .map(|(wire, model)| Other {
            name: format!("litellm {}, {wire}", version.trim()),
            aim: OwnedAim {
                address: server.address().to_owned(),
                wire: wire.to_owned(),
                model: model.to_owned(),
                key: key.clone(),
            },
            server: server.clone(),
        })
        .into())
}

fn router(upstream: &str, scratch: &Path) -> Outcome<Other> {
    let folder = Cache::open()?.ensure("router", &cache::key(&[PACKAGES, LOCK]), install)?;
    let home = scratch.join("router");
    let settings = home.join(".claude-code-router");
    fs::create_dir_all(&settings).map_err(|e| format!("cannot make {}: {e}", settings.display()))?;
    // It takes no port but one that it is told.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|e| e.to_string())?;
    let config = json!({
        "HOST": "127.0.0.1", "PORT": address.port(), "APIKEY": "any", "LOG": false, "NON_INTERACTIVE_MODE": true,
        "Providers": [{
            "name": "upstream", "models": ["m"], "api_key": "any",
            "api_base_url": format!("http://{upstream}/v1/chat/completions"),
        }],
        "Router": {"default": "upstream,m"},
    });
    write(&settings.join("config.json"), &config.to_string())?;
    let mut command = Command::new("node");
    command.arg(folder.join(ROUTER)).arg("start").env("HOME", &home);
    let server = Server::at(command, &address.to_string(), &scratch.join("router.log"))?;
    let version = serde_json::from_str::<serde_json::Value>(PACKAGES).unwrap_or_default();
    let version =
        version["dependencies"]["@musistudio/claude-code-router"].as_str().unwrap_or_default().to_owned();
    Ok(Other {
        name: format!("claude-code-router {version}, anthropic"),
        aim: OwnedAim {
            address: server.address().to_owned(),
            wire: "anthropic".to_owned(),
            model: "upstream,m".to_owned(),
            key: "any".to_owned(),
        },
        server: server.into(),
    })
}

fn install(folder: &Path) -> Outcome {
    for (name, text) in [("package.json", PACKAGES), ("package-lock.json", LOCK)] {
        write(&folder.join(name), text)?;
    }
    // No scripts: nothing of a package runs before it is started.
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    command::run(Command::new("npm").args(arguments).current_dir(folder))
}

fn write(path: &PathBuf, text: &str) -> Outcome {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
