//! The rows of the table of compositions that have a command-line agent, with the real programs in them.
//!
//! A dozen cells always: each program alone, behind the gateway, in a council and as a child. With the
//! variable `JUNTO_COMPOSITIONS=all`, as `cargo xtask soak compositions` sets it, every pair of these rows, and every
//! event that a real program can go through.

use junto_testkit::cast::Who;

use crate::compositions::drive;
use crate::compositions::table::{Cell, Event, Host, Mind, cell};

/// What a real program goes through. It is not steered and asks nothing here: both are set before it starts.
const EVENTS: [Event; 5] = [Event::Plain, Event::Tools, Event::Cancel, Event::Failure, Event::Crash];

/// Puts a row into these hosts: one cell, or all of them.
async fn compose(who: Who, mind: Mind, hosts: &[Host], usual: (Host, Event)) {
    let all = std::env::var("JUNTO_COMPOSITIONS").is_ok_and(|which| which == "all");
    let mut ran = 0;
    for host in hosts {
        for event in EVENTS.into_iter().filter(|event| all || (*host, *event) == usual) {
            if let Cell::Runs = cell(mind, *host, event) {
                eprintln!("{who:?}: {mind:?} × {host:?} × {event:?}");
                drive::run_real(who, mind, *host, event).await;
                ran += 1;
            }
        }
    }
    assert!(ran > 0);
}

macro_rules! rows {
    ($($module:ident: $who:ident),*) => {
        $(mod $module {
            use super::{Event, Host, Mind, Who, compose};

            #[tokio::test]
            async fn alone() {
                let hosts = [Host::Library, Host::Program];
                compose(Who::$who, Mind::Cli, &hosts, (Host::Library, Event::Tools)).await;
            }

            #[tokio::test]
            async fn behind_the_gateway() {
                compose(Who::$who, Mind::Cli, &[Host::Gateway], (Host::Gateway, Event::Tools)).await;
            }

            #[tokio::test]
            async fn in_a_council() {
                compose(Who::$who, Mind::CouncilWithCli, &Host::ALL, (Host::Library, Event::Plain)).await;
            }

            #[tokio::test]
            async fn as_a_child() {
                compose(Who::$who, Mind::CliChild, &Host::ALL, (Host::Library, Event::Tools)).await;
            }
        })*
    };
}

rows! { claude: Claude, codex: Codex, gemini: Gemini }
