//! The rows of the table of compositions that have a command-line agent, with the real programs in them.
//!
//! A dozen cells always: each program alone, behind the gateway, in a council and as a child. With the
//! variable `JUNTO_COMPOSITIONS=all`, as `cargo xtask soak compositions` sets it, every event of these pairs
//! that a real program can go through.

use junto_testkit::cast::Who;

use crate::compositions::drive;
use crate::compositions::table::{Cell, Event, Host, Mind, cell};

/// What a real program goes through. It is not steered and asks nothing here: both are set before it starts.
const EVENTS: [Event; 5] = [Event::Plain, Event::Tools, Event::Cancel, Event::Failure, Event::Crash];

async fn compose(who: Who, mind: Mind, host: Host, usual: Event) {
    let all = std::env::var("JUNTO_COMPOSITIONS").is_ok_and(|which| which == "all");
    for event in EVENTS.into_iter().filter(|event| all || *event == usual) {
        eprintln!("{who:?}: {mind:?} × {host:?} × {event:?}");
        assert!(matches!(cell(mind, host, event), Cell::Runs));
        drive::run_real(who, mind, host, event).await;
    }
}

macro_rules! rows {
    ($($module:ident: $who:ident),*) => {
        $(mod $module {
            use super::{Event, Host, Mind, Who, compose};

            #[tokio::test]
            async fn alone() {
                compose(Who::$who, Mind::Cli, Host::Library, Event::Tools).await;
            }

            #[tokio::test]
            async fn behind_the_gateway() {
                compose(Who::$who, Mind::Cli, Host::Gateway, Event::Tools).await;
            }

            #[tokio::test]
            async fn in_a_council() {
                compose(Who::$who, Mind::CouncilWithCli, Host::Library, Event::Plain).await;
            }

            #[tokio::test]
            async fn as_a_child() {
                compose(Who::$who, Mind::CliChild, Host::Library, Event::Tools).await;
            }
        })*
    };
}

rows! { claude: Claude, codex: Codex, gemini: Gemini }
