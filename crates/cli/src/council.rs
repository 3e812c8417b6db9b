//! A council from the names of its members.

use std::path::Path;
use std::sync::Arc;

use junto::council::{Council, Member, Options};
use junto::llm::Client;

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{connect, runners};

/// A council of these members, each `PROVIDER/MODEL` or a command-line agent. There is no judge: where they
/// differ, the first sound answer in this order wins. Whoever looks around does so in the directory. A council
/// of command-line agents needs no client.
///
/// # Errors
/// If a name is neither, a provider cannot be asked, or a member sits there twice.
pub(crate) fn council(
    names: &[String],
    client: Option<&Client>,
    directory: &Path,
    config: &Config,
    environment: &Environment,
) -> Result<Council, Failure> {
    let member = |name: &String| -> Result<Member, Failure> {
        if runners::is_known(name, config) {
            let member = Member::new(name, runners::provider(name, directory, config, environment)?);
            return Ok(match config.runner(name).model {
                Some(model) => member.model(model),
                None => member,
            });
        }
        let (provider, model) = split(name, config)?;
        connect::check_provider(provider, config, environment)?;
        let client = client.ok_or_else(connect::no_provider)?;
        Ok(Member::new(name, Arc::new(client.clone())).provider_name(provider).model(model))
    };
    let members = names.iter().map(member).collect::<Result<_, _>>()?;
    Ok(Council::new(members, None, Options::default())?)
}

/// Who sits in it, in words.
pub(crate) fn words(council: &Council) -> String {
    let names: Vec<&str> = council.members().iter().map(|member| member.name.as_str()).collect();
    format!("council of {}", names.join(", "))
}

fn split<'a>(name: &'a str, config: &Config) -> Result<(&'a str, &'a str), Failure> {
    let parts = name.split_once('/').filter(|(_, model)| !model.is_empty());
    parts.ok_or_else(|| {
        Failure::usage(
            format!("\"{name}\" is no PROVIDER/MODEL, and none of {}", config.runner_names().join(", ")),
            "name each member of the council as in --council anthropic/claude-opus-5-5,openai/gpt-6.1-sol",
        )
    })
}
