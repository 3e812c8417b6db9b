//! From the words of the configuration to a council's options.

use junto::council::{FanOut, Mode, Options, Scope, THOROUGHNESS};

use super::allowance;
use crate::config::CouncilSettings;

/// The word for the directive that is ours.
const OURS: &str = "thorough";

/// The options of a council; what its configuration does not say is as the library has it.
pub(super) fn options(settings: &CouncilSettings) -> Options {
    let usual = Options::default();
    Options {
        name: settings.name.clone(),
        mode: match settings.mode.as_deref() {
            Some("select") => Mode::Select,
            Some("fuse") => Mode::Fuse,
            Some("advise") => Mode::Advise,
            _ => usual.mode,
        },
        fan_out: match settings.fan_out.as_deref() {
            Some("never") => FanOut::Never,
            Some("always") => FanOut::Always,
            Some("necessary") => FanOut::Necessary,
            Some("auto") => FanOut::Auto,
            _ => usual.fan_out,
        },
        scope: match settings.scope.as_deref() {
            Some("first-turn") => Scope::FirstTurn,
            Some("per-turn") => Scope::PerTurn,
            _ => usual.scope,
        },
        ask: settings.n.unwrap_or(usual.ask),
        quorum: settings.quorum,
        straggler: settings.straggler.unwrap_or(usual.straggler),
        within: settings.within,
        judge_within: settings.judge_within.unwrap_or(usual.judge_within),
        budget: allowance(settings.max_usd, settings.max_tokens),
        directive: match settings.directive.as_deref() {
            None | Some("") => None,
            Some(OURS) => Some(THOROUGHNESS.trim_end().to_owned()),
            Some(words) => Some(words.to_owned()),
        },
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{COUNCIL_MODES, FAN_OUTS, SCOPES};

    /// The words of the configuration are those that the library writes.
    #[test]
    fn every_word_means_something() {
        let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
        for text in COUNCIL_MODES {
            let settings = CouncilSettings { mode: Some((*text).to_owned()), ..CouncilSettings::default() };
            assert_eq!(word(serde_json::json!(options(&settings).mode)).as_deref(), Some(*text));
        }
        for text in FAN_OUTS {
            let settings =
                CouncilSettings { fan_out: Some((*text).to_owned()), ..CouncilSettings::default() };
            assert_eq!(word(serde_json::json!(options(&settings).fan_out)).as_deref(), Some(*text));
        }
        for text in SCOPES {
            let settings = CouncilSettings { scope: Some((*text).to_owned()), ..CouncilSettings::default() };
            assert_eq!(word(serde_json::json!(options(&settings).scope)).as_deref(), Some(*text));
        }
    }

    #[test]
    fn the_directive_is_ours_yours_or_none() {
        let directive = |text: Option<&str>| {
            let settings =
                CouncilSettings { directive: text.map(str::to_owned), ..CouncilSettings::default() };
            options(&settings).directive
        };
        assert_eq!(directive(None), None);
        assert_eq!(directive(Some("")), None);
        assert_eq!(directive(Some("thorough")).as_deref(), Some(THOROUGHNESS.trim_end()));
        assert_eq!(directive(Some("Be quick.")).as_deref(), Some("Be quick."));
    }
}
