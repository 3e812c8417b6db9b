use std::collections::BTreeSet;

use super::*;
use crate::ErrorKind;

fn model(provider: &str, id: &str, released: &str) -> ModelInfo {
    ModelInfo {
        id: id.into(),
        provider: provider.into(),
        name: id.to_uppercase(),
        context_window: 1000,
        max_output: 100,
        released: released.into(),
        ..ModelInfo::default()
    }
}

fn ids(models: &[&ModelInfo]) -> Vec<String> {
    models.iter().map(|m| m.id.clone()).collect()
}

#[test]
fn the_builtin_file_parses() {
    Catalog::parse(include_str!("../catalog.toml")).unwrap();
}

#[test]
fn every_builtin_entry_is_sane() {
    let catalog = Catalog::builtin();
    let mut names = BTreeSet::new();
    for m in catalog.list(None) {
        let id = &m.id;
        assert!(["openai", "anthropic", "gemini"].contains(&m.provider.as_str()), "{id}: {}", m.provider);
        m.released.parse::<jiff::civil::Date>().unwrap_or_else(|e| panic!("{id}: {e}"));
        if let Some(month) = &m.knowledge_cutoff {
            format!("{month}-01").parse::<jiff::civil::Date>().unwrap_or_else(|e| panic!("{id}: {e}"));
            assert!(*month < m.released, "{id} knows what came after it");
        }
        assert!(m.max_output > 0 && m.max_output <= m.context_window, "{id}");
        for name in std::iter::once(id).chain(&m.aliases) {
            assert!(names.insert(name.clone()), "two models are called {name}");
        }
        if let Some(p) = m.price {
            assert!(p.input >= 0.0 && p.output >= p.input, "{id}: {p:?}");
            assert!(p.cache_read.is_none_or(|read| read >= 0.0 && read <= p.input), "{id}: {p:?}");
            assert!(p.cache_write.is_none_or(|write| write >= p.input), "{id}: {p:?}");
            assert!(p.long_prompt.is_none_or(|l| l.above < m.context_window && l.input >= 1.0), "{id}");
        }
    }
}

#[test]
fn every_provider_has_a_choice_and_one_flagship() {
    let catalog = Catalog::builtin();
    for provider in ["openai", "anthropic", "gemini"] {
        let models = catalog.list(Some(provider));
        assert!(models.len() >= 8, "{provider}: {}", models.len());
        assert_eq!(models.iter().filter(|m| m.flagship).count(), 1, "{provider}");
        assert!(catalog.latest(provider, None).unwrap().flagship);
        for capability in
            [Capability::Tools, Capability::Vision, Capability::Reasoning, Capability::StructuredOutput]
        {
            assert!(catalog.latest(provider, Some(capability)).unwrap().can(capability));
        }
    }
}

#[test]
fn lookups_take_ids_aliases_and_dates() {
    let catalog = Catalog::empty().overlay(vec![
        ModelInfo { aliases: vec!["big".into()], ..model("a", "claude-x", "2026-01-01") },
        model("a", "claude-x-20250101", "2025-01-01"),
        model("o", "gpt-x", "2026-01-01"),
    ]);
    let check = |name: &str, expected: Option<&str>| {
        assert_eq!(catalog.get(name).map(|m| m.id.as_str()), expected, "{name}");
    };
    check("claude-x", Some("claude-x"));
    check("big", Some("claude-x"));
    check("big-20260101", Some("claude-x"));
    check("claude-x-20250929", Some("claude-x"));
    check("claude-x-20250101", Some("claude-x-20250101"));
    check("gpt-x-2026-01-01", Some("gpt-x"));
    check("gpt-x-20260101", Some("gpt-x"));
    check("gpt-x-2026", None);
    check("gpt-x-2026-1-01", None);
    check("gpt-y", None);
    check("", None);
    check("-20260101", None);
    check("é-2026-01-0é", None);
}

#[test]
fn the_builtin_models_are_found_under_their_dated_names() {
    let catalog = Catalog::builtin();
    for (dated, id) in [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-5.5-2026-04-23", "gpt-5.5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
    ] {
        assert_eq!(catalog.get(dated).unwrap().id, id);
    }
}

#[test]
fn the_latest_is_the_last_flagship_else_the_last_and_then_the_first_in_the_file() {
    let catalog = Catalog::empty().overlay(vec![
        ModelInfo { tools: true, ..model("p", "old", "2025-01-01") },
        model("p", "twin-a", "2026-01-01"),
        model("p", "twin-b", "2026-01-01"),
        ModelInfo { flagship: true, vision: true, ..model("q", "big", "2025-01-01") },
        ModelInfo { vision: true, tools: true, ..model("q", "small", "2026-01-01") },
    ]);
    let check = |provider: &str, capability: Option<Capability>, expected: Option<&str>| {
        let latest = catalog.latest(provider, capability).map(|m| m.id.as_str());
        assert_eq!(latest, expected, "{provider} {capability:?}");
    };
    check("p", None, Some("twin-a"));
    check("p", Some(Capability::Tools), Some("old"));
    check("p", Some(Capability::Reasoning), None);
    check("q", None, Some("big"));
    check("q", Some(Capability::Vision), Some("big"));
    check("q", Some(Capability::Tools), Some("small"));
    check("r", None, None);
}

#[test]
fn a_users_entries_replace_and_add() {
    let ours = Catalog::empty().overlay(vec![
        ModelInfo { aliases: vec!["fast".into(), "f".into()], ..model("p", "a", "2026-01-01") },
        model("p", "b", "2026-01-01"),
    ]);
    let theirs = ours.overlay(vec![
        ModelInfo { max_output: 7, ..model("p", "b", "2026-02-02") },
        ModelInfo { aliases: vec!["fast".into()], ..model("p", "c", "2026-01-01") },
        model("local", "a", "2026-01-01"),
    ]);
    assert_eq!(ids(&theirs.list(None)), ["a", "b", "c", "a"]);
    assert_eq!(ids(&theirs.list(Some("local"))), ["a"]);
    assert_eq!(theirs.get("b").unwrap().max_output, 7);
    assert_eq!(theirs.get("fast").unwrap().id, "c");
    assert_eq!(theirs.get("f").unwrap().id, "a");
    assert_eq!(ours.get("fast").unwrap().id, "a", "the first catalog stays as it was");
}

#[test]
fn costs_follow_the_price_and_are_unknown_without_one() {
    let price = Price {
        input: 2.0,
        output: 10.0,
        cache_read: Some(0.1),
        cache_write: Some(2.5),
        long_prompt: Some(Surcharge { above: 1_000_000, input: 2.0, output: 1.5 }),
    };
    let catalog = Catalog::empty().overlay(vec![
        ModelInfo { price: Some(price), ..model("p", "m", "2026-01-01") },
        model("p", "n", "2026-01-01"),
    ]);
    let check = |model: &str, usage: Usage, dollars: Option<f64>| {
        let cost = catalog.cost("p", model, &usage);
        assert_eq!(
            cost,
            dollars.map_or(Cost::Unknown, |d| Cost::Estimated(Usd::from_dollars(d))),
            "{usage:?}"
        );
    };
    check("m", Usage::new(1_000_000, 100_000), Some(3.0));
    check("m-20260101", Usage::new(1_000_000, 0), Some(2.0));
    let cached = Usage { cache_read: Some(400_000), cache_write: Some(100_000), ..Usage::new(1_000_000, 0) };
    check("m", cached, Some(1.0 + 0.04 + 0.25));
    check("m", Usage::new(2_000_000, 100_000), Some(8.0 + 1.5));
    // A provider that reports more cached tokens than input must not be credited for it.
    check("m", Usage { cache_read: Some(10_000_000), ..Usage::new(0, 0) }, Some(1.0));
    check("n", Usage::new(1, 1), None);
    check("unheard-of", Usage::new(1, 1), None);
    assert_eq!(catalog.cost("q", "m", &Usage::new(1, 1)), Cost::Unknown);
}

#[test]
fn bad_files_say_where() {
    let check = |toml: &str, line: &str, what: &str| {
        let error = Catalog::parse(toml).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.message().contains(line) && error.message().contains(what), "{error}");
    };
    let good = "[[model]]\nid = 'a'\nprovider = 'p'\nname = 'A'\ncontext_window = 9\nmax_output = 3\nreleased = '2026-01-01'\n";
    assert_eq!(Catalog::parse(good).unwrap().list(None).len(), 1);
    check(&format!("{good}colour = 'red'\n"), "line 8", "colour");
    check(&good.replace("= 9", "= 'nine'"), "line 5", "string");
    check("[[model]]\nid = 'a'\n", "line 1", "provider");
    check("[[model]\n", "line 1", "");
    check(&format!("{good}price = {{ input = 1, outptu = 2 }}\n"), "line 8", "outptu");
}

#[test]
fn an_answer_of_several_calls_costs_what_they_cost() {
    let price = Price { input: 1.0, output: 2.0, ..Price::default() };
    let priced = ModelInfo { price: Some(price), ..model("p", "m", "2026-01-01") };
    let catalog = Catalog::empty().overlay(vec![priced]);
    let call = |model: &str, cost| LeafCall {
        provider: "p".into(),
        model: model.into(),
        usage: Usage::new(1_000_000, 500_000),
        cost,
    };
    let dollars = |amount| Usd::from_dollars(amount);
    let check = |calls: Vec<LeafCall>, expected: Cost| {
        let usage = Usage { calls, ..Usage::new(9, 9) };
        assert_eq!(catalog.cost("council", "council", &usage), expected);
        let sum =
            catalog.priced(usage).calls.into_iter().map(|call| call.cost).reduce(|sum, cost| sum + cost);
        assert_eq!(sum, Some(expected), "the parts tell the same");
    };
    check(vec![call("m", Cost::Unknown)], Cost::Estimated(dollars(2.0)));
    check(vec![call("m", Cost::Reported(dollars(1.5)))], Cost::Reported(dollars(1.5)));
    check(
        vec![call("m", Cost::Unknown), call("x", Cost::Reported(dollars(0.5)))],
        Cost::Estimated(dollars(2.5)),
    );
    check(vec![call("m", Cost::Unknown), call("x", Cost::Unknown)], Cost::Unknown);
}
