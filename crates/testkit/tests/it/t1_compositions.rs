//! Every kind of mind composed with every host. One test for each pair goes through all events; a
//! cell that cannot apply must be right about why.

use std::path::Path;

use crate::compositions::table::{Cell, Event, Fact, Host, Mind, cell, printed};
use crate::compositions::{drive, program, socket, table};

async fn compose(mind: Mind, host: Host) {
    for event in Event::ALL {
        // Shown when the cell fails.
        eprintln!("{mind:?} × {host:?} × {event:?}");
        match cell(mind, host, event) {
            Cell::No(why) => drive::cannot(mind, host, event, &why).await,
            Cell::Runs if host == Host::ToolSocket => socket::run(mind, event).await,
            Cell::Runs if host == Host::Program => program::run(mind, event).await,
            Cell::Runs => drive::run(mind, host, event).await,
        }
    }
}

macro_rules! pairs {
    ($($mind:ident: $kind:ident),*) => {
        $(mod $mind {
            use super::{Host, Mind, compose};

            #[tokio::test]
            async fn in_the_library() {
                compose(Mind::$kind, Host::Library).await;
            }

            #[tokio::test]
            async fn behind_the_gateway() {
                compose(Mind::$kind, Host::Gateway).await;
            }

            #[tokio::test]
            async fn over_the_tool_socket() {
                compose(Mind::$kind, Host::ToolSocket).await;
            }

            #[tokio::test]
            async fn by_the_program() {
                compose(Mind::$kind, Host::Program).await;
            }
        })*

        /// A mind without tests would be a row that nobody checks.
        const TESTED: &[Mind] = &[$(Mind::$kind),*];
    };
}

pairs! {
    native_anthropic: NativeAnthropic,
    native_responses: NativeResponses,
    cli: Cli,
    council: Council,
    council_with_cli: CouncilWithCli,
    native_child: NativeChild,
    cli_child: CliChild
}

/// `cargo xtask compositions` prints what this writes.
#[test]
fn the_table_is_whole() {
    assert_eq!(TESTED, Mind::ALL);
    for mind in Mind::ALL {
        for event in Event::ALL {
            let runs = Host::ALL.into_iter().any(|host| matches!(cell(mind, host, event), Cell::Runs));
            // Whoever is never asked is never refused.
            assert_eq!(runs, (mind, event) != (Mind::Cli, Event::Reject), "{mind:?} in {event:?}");
        }
    }
    for event in [Event::Steer, Event::Reject] {
        let Cell::No(why) = cell(Mind::Cli, Host::Library, event) else { panic!("{event:?}") };
        let Fact::Abilities(fact) = why.fact else { panic!("{}", why.text) };
        assert!(fact(&table::CLI));
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    std::fs::write(target.join("compositions.md"), printed()).unwrap();
}
