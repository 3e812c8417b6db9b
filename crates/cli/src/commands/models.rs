//! `junto models`: the catalog, and which providers have keys.

use std::fmt::Write;

use junto::llm::catalog::{Capability, Catalog, ModelInfo};
use serde_json::{Value, json};

use crate::args::ModelsArgs;
use crate::config::{Config, ProviderSettings};
use crate::connect::{self, Access};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(args: &ModelsArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    for note in &config.notes {
        output.note(note);
    }
    let catalog = connect::catalog(&config);
    let mut providers = config.providers();
    if let Some(name) = &args.provider {
        let names = || providers.iter().map(|p| p.name.as_str());
        if !names().any(|known| known == name) && catalog.list(Some(name)).is_empty() {
            return Err(connect::unknown_provider(name, names()));
        }
        providers.retain(|provider| &provider.name == name);
    }
    let models = catalog.list(args.provider.as_deref());
    let providers: Vec<(ProviderSettings, Access)> =
        providers.into_iter().map(|p| (p.clone(), Access::of(&p, environment))).collect();
    if args.json {
        output.exact(&format!("{:#}\n", to_json(&models, &providers, &config)))?;
    } else {
        output.data(&tables(&models, &providers, &config, &catalog))?;
    }
    Ok(Exit::Done)
}

fn to_json(models: &[&ModelInfo], providers: &[(ProviderSettings, Access)], config: &Config) -> Value {
    let providers: Vec<Value> = providers
        .iter()
        .map(|(provider, access)| {
            json!({
                "name": provider.name,
                "wire": provider.wire.name(),
                "base_url": provider.base_url,
                "key_env": provider.key_variable,
                "key": access.word(),
            })
        })
        .collect();
    let aliases: serde_json::Map<String, Value> =
        config.aliases().map(|(name, target)| (name.to_owned(), target.into())).collect();
    json!({"models": models, "providers": providers, "aliases": aliases})
}

fn tables(
    models: &[&ModelInfo],
    providers: &[(ProviderSettings, Access)],
    config: &Config,
    catalog: &Catalog,
) -> String {
    let heads =
        ["MODEL", "PROVIDER", "CONTEXT", "OUTPUT", "$ IN", "$ OUT", "$ CACHED", "ABILITIES", "ALIASES"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(models.iter().map(|model| model_row(model, config, catalog)));
    let mut text = columns(&rows);
    text.push_str("\nPrices are dollars per million tokens.\n\n");

    let mut rows = vec![["PROVIDER", "WIRE", "KEY", "VARIABLE", "ADDRESS"].map(str::to_owned).to_vec()];
    rows.extend(providers.iter().map(|(provider, access)| {
        vec![
            provider.name.clone(),
            provider.wire.name().to_owned(),
            access.word().to_owned(),
            provider.key_variable.clone().unwrap_or_else(|| "-".to_owned()),
            provider.base_url.clone(),
        ]
    }));
    text.push_str(&columns(&rows));
    text
}

fn model_row(model: &ModelInfo, config: &Config, catalog: &Catalog) -> Vec<String> {
    let price = |part: Option<f64>| part.map_or_else(|| "?".to_owned(), |dollars| format!("{dollars}"));
    let abilities = [
        (Capability::Tools, "tools"),
        (Capability::Vision, "vision"),
        (Capability::Reasoning, "reasoning"),
        (Capability::StructuredOutput, "json"),
    ];
    let abilities: Vec<&str> =
        abilities.into_iter().filter(|(ability, _)| model.can(*ability)).map(|(_, word)| word).collect();
    let means_it = |target: &str| {
        target == format!("{}/{}", model.provider, model.id)
            || catalog.get(target).is_some_and(|info| info.id == model.id && info.provider == model.provider)
    };
    let own = config.aliases().filter(|(_, target)| means_it(target)).map(|(name, _)| name);
    let aliases: Vec<&str> = model.aliases.iter().map(String::as_str).chain(own).collect();
    vec![
        model.id.clone(),
        model.provider.clone(),
        tokens(model.context_window),
        tokens(model.max_output),
        price(model.price.map(|p| p.input)),
        price(model.price.map(|p| p.output)),
        price(model.price.and_then(|p| p.cache_read)),
        if abilities.is_empty() { "-".to_owned() } else { abilities.join(" ") },
        aliases.join(" "),
    ]
}

/// A number of tokens as people say it: `200k`, `1M`. Exact where that is not.
fn tokens(count: u64) -> String {
    match count {
        _ if count > 0 && count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        _ if count > 0 && count.is_multiple_of(1_000) => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}

/// Rows with each column as wide as its widest cell.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short_and_never_wrong() {
        for (count, text) in [(1_000_000, "1M"), (200_000, "200k"), (1_048_576, "1048576"), (0, "0")] {
            assert_eq!(tokens(count), text);
        }
    }

    #[test]
    fn columns_line_up_without_trailing_spaces() {
        let rows = [vec!["a".into(), "b".into()], vec!["long".into(), String::new()]];
        assert_eq!(columns(&rows), "a     b\nlong\n");
    }
}
