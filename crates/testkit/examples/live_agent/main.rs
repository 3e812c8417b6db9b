//! The end-to-end script against the real providers, for whoever has keys: `cargo xtask live`.
//!
//! Each vendor whose key is in the environment works through the script with its own profile and its
//! latest model (or `JUNTO_LIVE_MODEL`); a run takes some minutes and costs some cents. Without keys it
//! says so and ends well.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example prints, reads its settings and takes the world's clock"
)]

mod script;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use junto::agent::profile::{Family, Profile};
use junto::llm::Client;

use self::script::Setting;

#[tokio::main]
async fn main() -> ExitCode {
    let client = match Client::from_env() {
        Ok(client) => Arc::new(client),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let families: Vec<Family> =
        client.provider_names().filter_map(Family::named).filter(|family| family.wire().is_some()).collect();
    if families.is_empty() {
        println!("no keys: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY to run the script");
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for family in families {
        match play(Arc::clone(&client), family).await {
            Ok(failures) => failed += failures,
            Err(error) => {
                failed += 1;
                println!("{:10} FAIL  {error}", family.name());
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many steps failed.
async fn play(client: Arc<Client>, family: Family) -> Result<usize, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let setting = Setting {
        provider: client,
        provider_name: Some(family.name().to_owned()),
        model: std::env::var("JUNTO_LIVE_MODEL").ok(),
        profile: Profile::of(family),
        workdir: dir.path().to_owned(),
        timeout: Duration::from_secs(10),
        steered: None,
    };
    let mut failed = 0;
    for (step, verdict) in script::run(setting).await? {
        match verdict {
            Ok(()) => println!("{:10} {step:20} ok", family.name()),
            Err(what) => {
                failed += 1;
                println!("{:10} {step:20} FAIL  {what}", family.name());
            }
        }
    }
    Ok(failed)
}
