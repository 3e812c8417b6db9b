//! What the examples share: somebody to answer, and a way to see what an agent says.
#![allow(dead_code, reason = "not every example needs all of it")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use junto::Code;
use junto::core::Subscription;
use junto::env::LocalBuilder;
use junto::kernel::Interpreter;
use junto::prelude::*;
use junto::twin::{Options, Play, Twin};

/// A client, and the scripted model it talks to if no key is set.
pub(crate) struct Model {
    /// Asks the first provider that has a key, or the script.
    pub(crate) client: Client,
    /// Must live as long as it is asked.
    _script: Option<Twin>,
}

/// The providers whose keys are in the environment. If there are none, a script plays both `anthropic`
/// and `openai`, each on its own wire.
pub(crate) fn model(play: Play) -> Result<Model, Box<dyn Error>> {
    let client = Client::from_env()?;
    if client.default_provider().is_some() {
        return Ok(Model { client, _script: None });
    }
    println!("(no key is set, so a script plays the model)");
    let script = Twin::start(play, Options::default())?;
    let mut builder = Client::builder();
    for (name, wire) in [("anthropic", Wire::Anthropic), ("openai", Wire::Responses)] {
        let endpoint = Endpoint::new(name, wire, script.base_url(wire)).key(script.key());
        builder = builder.provider(name, Arc::new(HttpProvider::new(endpoint)?));
    }
    Ok(Model { client: builder.build()?, _script: Some(script) })
}

/// Follows an agent until it is done with its input, and prints its tool calls and what it says.
pub(crate) async fn follow(events: &mut Subscription) -> Result<(), Box<dyn Error>> {
    loop {
        let Item::Event(event) = events.next().await? else { continue };
        match &event.body {
            Body::ToolCallStart { call, .. } => println!("> {} {}", call.name, call.arguments),
            Body::ToolCallEnd { output, .. } => println!("  {}", output.preview().trim()),
            Body::InputEnd { text, .. } => break println!("{}", text.preview()),
            _ => {}
        }
    }
    Ok(())
}

/// The environment for a directory, with programs where they usually are.
pub(crate) fn local(directory: &Path) -> LocalBuilder {
    LocalEnvironment::builder(directory).variables([("PATH", "/usr/local/bin:/usr/bin:/bin")])
}

/// Kernels of the Python that is the program's argument; without one, of an environment that is made and kept.
pub(crate) fn code(sockets: &Path) -> Code {
    let interpreter = match std::env::args_os().nth(1) {
        Some(program) => Interpreter::At(program.into()),
        None => Interpreter::Kept(std::env::temp_dir().join("junto-python")),
    };
    Code::new(interpreter, sockets)
}
