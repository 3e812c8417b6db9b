//! Which provider and which model are meant.

use junto::llm::Wire;
use junto::llm::catalog::Catalog;
use junto::llm::names::nearest;

use crate::config::{Config, Origin, ProviderSettings};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{connect, council};

/// What to ask. Absent parts are the client's to settle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The provider's name.
    pub(crate) provider: Option<String>,
    /// The provider's own id of the model.
    pub(crate) model: Option<String>,
}

impl Choice {
    fn of(provider: Option<&str>, model: Option<&str>) -> Self {
        Self { provider: provider.map(str::to_owned), model: model.map(str::to_owned) }
    }
}

/// Which provider and model are asked, both checked as far as they can be without asking.
///
/// # Errors
/// As [`choose`]; also if the provider is unknown or has no key, or a council is meant.
pub(crate) fn settle(config: &Config, environment: &Environment) -> Result<Choice, Failure> {
    if let Some(name) = council::meant(config) {
        return Err(Failure::usage(
            format!("{name} is a council, and this command asks one model"),
            "ask it with `junto run --model`, or through `junto gateway`",
        ));
    }
    let usable = connect::usable(config, environment);
    let choice = choose(config, &connect::catalog(config), &usable)?;
    if let Some(name) = &choice.provider {
        connect::check_provider(name, config, environment)?;
    }
    Ok(choice)
}

/// Settles which model is meant.
///
/// A model may be an alias of the user's, `PROVIDER/MODEL`, a name from the catalog, or an id that
/// only its provider knows. A provider that was chosen more specifically than the model (a flag
/// before a variable before a file), or that was given as a flag too, is asked whatever the name
/// says. Otherwise the name may tell its provider, and the `provider` setting is for names that do
/// not, or whose provider cannot be asked. Nobody is asked for another's model whom the user did not set.
///
/// # Errors
/// If the name can only be an alias, and there is none; or if it begins with what is almost a provider.
pub(crate) fn choose(
    config: &Config,
    catalog: &Catalog,
    usable: &[ProviderSettings],
) -> Result<Choice, Failure> {
    let provider = config.text("provider");
    let Some((name, model_origin)) = config.text("model") else {
        return Ok(Choice::of(provider.map(|(name, _)| name), None));
    };
    let target = config.alias(name).unwrap_or(name);
    let named = split(target, config);
    let outweighs = |origin: &Origin| origin.weight() > model_origin.weight();
    let demanded = provider.filter(|(_, origin)| outweighs(origin) || matches!(origin, Origin::Flag(_)));

    let (owner, model) = match (demanded, named) {
        (Some((demanded, _)), Some((owner, model))) if owner == demanded => {
            return Ok(Choice::of(Some(owner), Some(model)));
        }
        (Some((demanded, origin)), _) => {
            let owner = named.map(|(owner, _)| owner);
            let owner = owner.or(catalog.get(target).map(|info| info.provider.as_str()));
            // A name that tells nothing may be this provider's, if the catalog has none for it.
            let may_be = owner.is_none() && catalog.latest(demanded, None).is_none();
            if outweighs(origin) && owner != Some(demanded) && !may_be {
                // The model was meant for another provider; this one is asked for its latest.
                return Ok(Choice::of(Some(demanded), None));
            }
            (Some(demanded), target)
        }
        (None, Some((owner, model))) => return Ok(Choice::of(Some(owner), Some(model))),
        (None, None) => {
            let beside = provider.filter(|(_, origin)| origin.weight() == model_origin.weight());
            let known = beside.is_none().then(|| owner(target, catalog, usable)).flatten();
            let known = known.filter(|owner| provider.is_none() || is_usable(owner, usable));
            let set = provider.map(|(name, _)| name);
            if catalog.get(target).is_none() {
                check_owner(target, set, config)?;
            }
            (known.or(set), target)
        }
    };
    check_name(model, owner, config, catalog, usable)?;
    Ok(Choice::of(owner, Some(model)))
}

/// Splits `PROVIDER/MODEL`, if the first part is a provider. Other names may have slashes too.
fn split<'a>(target: &'a str, config: &Config) -> Option<(&'a str, &'a str)> {
    let (owner, model) = target.split_once('/')?;
    config.providers().iter().any(|p| p.name == owner).then_some((owner, model))
}

/// Whose model this is, as far as the catalog knows: of several, one that can be asked.
fn owner<'a>(model: &str, catalog: &'a Catalog, usable: &[ProviderSettings]) -> Option<&'a str> {
    let first = catalog.get(model)?;
    let able = || usable.iter().find_map(|provider| catalog.of(&provider.name, model));
    let info = if is_usable(&first.provider, usable) { first } else { able().unwrap_or(first) };
    Some(&info.provider)
}

fn is_usable(name: &str, usable: &[ProviderSettings]) -> bool {
    usable.iter().any(|provider| provider.name == name)
}

/// Refuses `PROVIDER/MODEL` whose first part is almost a provider. Only a compatible server that the user
/// set may have a model of such a name.
fn check_owner(target: &str, set: Option<&str>, config: &Config) -> Result<(), Failure> {
    let Some((owner, _)) = target.split_once('/') else { return Ok(()) };
    let providers = config.providers();
    let names = providers.iter().map(|provider| provider.name.as_str());
    let is_compatible =
        set.is_some_and(|set| providers.iter().any(|p| p.name == set && p.wire == Wire::Chat));
    if is_compatible || nearest(owner, names.clone()).is_none() {
        return Ok(());
    }
    Err(connect::unknown_provider(owner, names))
}

/// Refuses a name that is a plain word and that neither aliases nor catalog know. The vendors' ids
/// all have a digit or a dash; only compatible servers have models such as `mistral`.
fn check_name(
    model: &str,
    owner: Option<&str>,
    config: &Config,
    catalog: &Catalog,
    usable: &[ProviderSettings],
) -> Result<(), Failure> {
    let asked = owner.map_or(usable.first(), |owner| usable.iter().find(|p| p.name == owner));
    let word = model.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    if !word || catalog.get(model).is_some() || asked.is_none_or(|p| p.wire == Wire::Chat) {
        return Ok(());
    }
    let known: Vec<&str> = config
        .aliases()
        .map(|(alias, _)| alias)
        .chain(catalog.list(None).into_iter().flat_map(|info| info.aliases.iter().map(String::as_str)))
        .collect();
    let near = nearest(model, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    Err(Failure::usage(
        format!("unknown model alias \"{model}\"{near}"),
        "define it under [aliases] in the configuration, or give a model's id; `junto models` lists what is known",
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::FlagValue;

    /// `variables` are set beside two keys; `flags` are `key=value`.
    fn choice(
        file: &str,
        variables: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> Result<Choice, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, file).unwrap();
        let mut all = vec![
            ("JUNTO_CONFIG", path.to_str().unwrap()),
            ("OPENAI_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
        ];
        all.extend_from_slice(variables);
        let environment = Environment::of(Path::new("/"), &all);
        let flags: Vec<_> = flags
            .iter()
            .map(|(key, text)| FlagValue { key, flag: "--flag", text: (*text).to_owned() })
            .collect();
        let config = Config::load(&environment, &flags).unwrap();
        choose(&config, &connect::catalog(&config), &connect::usable(&config, &environment))
    }

    fn check(file: &str, flags: &[(&'static str, &str)], provider: Option<&str>, model: Option<&str>) {
        assert_eq!(choice(file, &[], flags), Ok(Choice::of(provider, model)), "{file} {flags:?}");
    }

    #[test]
    fn names_tell_their_provider() {
        check("", &[], None, None);
        check("", &[("model", "openai/gpt-x")], Some("openai"), Some("gpt-x"));
        check("", &[("model", "claude-opus-5-5")], Some("anthropic"), Some("claude-opus-5-5"));
        check(
            "provider = \"openai\"",
            &[("model", "claude-opus-5-5")],
            Some("anthropic"),
            Some("claude-opus-5-5"),
        );
        check("", &[("model", "some-unknown-1")], None, Some("some-unknown-1"));
        check("", &[("model", "org/some-model")], None, Some("org/some-model"));
        check("aliases.fast = \"openai/mini-1\"", &[("model", "fast")], Some("openai"), Some("mini-1"));
        check(
            "aliases.fast = \"small\"\naliases.small = \"openai/mini-1\"",
            &[("model", "fast")],
            Some("openai"),
            Some("mini-1"),
        );
        check(
            "aliases.big = \"claude-opus-5-5\"",
            &[("model", "big")],
            Some("anthropic"),
            Some("claude-opus-5-5"),
        );
    }

    /// A provider that listens on this machine.
    const LOCAL: &str = "[providers.local]\nwire = \"chat\"\nbase_url = \"http://x\"\n";
    /// A model of the user's own.
    const OWN: &str = "[[models]]\nid = \"tiny\"\nprovider = \"local\"\nname = \"Tiny\"\n\
                       context_window = 10\nmax_output = 5\nreleased = \"2026-01-01\"\n";

    #[test]
    fn a_known_model_stays_with_its_provider_whatever_keys_there_are() {
        let check = |file: &str, model: &str, provider: &str| {
            let choice = choice(file, &[("ANTHROPIC_API_KEY", "")], &[("model", model)]);
            assert_eq!(choice, Ok(Choice::of(Some(provider), Some(model))), "{file} {model}");
        };
        check("", "claude-opus-5-5", "anthropic");
        check(OWN, "tiny", "local");
        check(&format!("{OWN}{LOCAL}"), "tiny", "local");
        // The user's word counts more.
        check(&format!("provider = \"local\"\n{LOCAL}"), "claude-opus-5-5", "local");
        // Two have it, and one of them can be asked.
        let both = OWN.replace("tiny", "claude-opus-5-5");
        check(&format!("{both}{LOCAL}"), "claude-opus-5-5", "local");
    }

    #[test]
    fn what_is_almost_a_provider_is_named() {
        let refused = |file: &str| choice(file, &[], &[("model", "antropic/claude-opus-5-5")]).unwrap_err();
        let expected = ["unknown provider \"antropic\"; did you mean \"anthropic\"?"];
        assert_eq!(refused("").errors, expected);
        assert_eq!(refused("provider = \"openai\"").errors, expected);
        // A compatible server has models of all names.
        let local = format!("provider = \"local\"\n{LOCAL}");
        check(&local, &[("model", "antropic/x-1")], Some("local"), Some("antropic/x-1"));
    }

    #[test]
    fn the_usual_provider_is_for_names_that_tell_none() {
        let file = |model: &str| {
            format!(
                "provider = \"local\"\nmodel = \"{model}\"\naliases.fast = \"openai/mini-1\"\n\
                 [providers.local]\nwire = \"chat\"\nbase_url = \"http://x\"\n"
            )
        };
        check(&file("some-1"), &[], Some("local"), Some("some-1"));
        check(&file("claude-opus-5-5"), &[], Some("local"), Some("claude-opus-5-5"));
        check(&file("openai/gpt-x"), &[], Some("openai"), Some("gpt-x"));
        check(&file("local/openai/gpt-x"), &[], Some("local"), Some("openai/gpt-x"));
        check(&file("fast"), &[], Some("openai"), Some("mini-1"));
        check(&file("some-1"), &[("model", "claude-opus-5-5")], Some("anthropic"), Some("claude-opus-5-5"));
    }

    #[test]
    fn a_provider_given_as_a_flag_keeps_the_name() {
        let local = "[providers.local]\nwire = \"chat\"\nbase_url = \"http://x\"\n";
        check(
            local,
            &[("provider", "local"), ("model", "openai/gpt-x")],
            Some("local"),
            Some("openai/gpt-x"),
        );
        check(local, &[("provider", "local"), ("model", "local/m")], Some("local"), Some("m"));
        check(
            local,
            &[("provider", "local"), ("model", "claude-opus-5-5")],
            Some("local"),
            Some("claude-opus-5-5"),
        );
        check(local, &[("provider", "local"), ("model", "mistral")], Some("local"), Some("mistral"));
    }

    #[test]
    fn a_provider_chosen_more_specifically_sets_the_usual_model_aside() {
        check("model = \"gpt-x-1\"", &[("provider", "anthropic")], Some("anthropic"), None);
        check("model = \"openai/gpt-x\"", &[("provider", "anthropic")], Some("anthropic"), None);
        check(
            "model = \"claude-opus-5-5\"",
            &[("provider", "anthropic")],
            Some("anthropic"),
            Some("claude-opus-5-5"),
        );
        check("model = \"anthropic/new-1\"", &[("provider", "anthropic")], Some("anthropic"), Some("new-1"));
        let local = |model: &str| {
            format!("model = \"{model}\"\n[providers.local]\nwire = \"chat\"\nbase_url = \"http://x\"\n")
        };
        check(&local("some-1"), &[("provider", "local")], Some("local"), Some("some-1"));
        check(&local("claude-opus-5-5"), &[("provider", "local")], Some("local"), None);
        check(&local("openai/gpt-x"), &[("provider", "local")], Some("local"), None);
    }

    #[test]
    fn unknown_aliases_are_named() {
        let failure = choice("aliases.fast = \"openai/mini-1\"", &[], &[("model", "fsat")]).unwrap_err();
        assert_eq!(failure.errors, ["unknown model alias \"fsat\"; did you mean \"fast\"?"]);
        let failure = choice("", &[("JUNTO_MODEL", "zebra")], &[]).unwrap_err();
        assert_eq!(failure.errors, ["unknown model alias \"zebra\""]);
    }
}
