//! Claude Code at a terminal, with a person before it, through the gateway.

use junto_llm::{Chore, Traffic, Wire};
use junto_testkit::cast::Who;
use junto_twin::Step;

use crate::clients::desk::Desk;
use crate::clients::terminal::Terminal;

/// A file is made once the person has said yes; the history is summed up; the client is left.
async fn a_person_works(upstream: Wire) {
    let who = Who::Claude;
    let desk = Desk::open(who, upstream, |work| {
        vec![
            Step::calls([who.write(work, "made.txt", "one\n")]),
            Step::text("The file is there."),
            Step::text("<analysis>Short.</analysis>\n<summary>A file was made.</summary>"),
            Step::text("A file was made, it says."),
        ]
    })
    .await;
    let mut terminal = Terminal::open(&desk).await;
    terminal.shows("manual mode on").await;
    terminal.enter("Kindly make a file").await;
    terminal.shows("Do you want to create made.txt?").await;
    assert_eq!(desk.read("made.txt"), None, "nobody has said yes");
    terminal.confirm("Do you want to create made.txt?").await;
    terminal.shows("The file is there.").await;
    assert_eq!(desk.read("made.txt").as_deref(), Some("one\n"));
    terminal.enter("/compact").await;
    terminal.shows("Compacted").await;
    terminal.enter("What was it?").await;
    terminal.shows("A file was made, it says.").await;
    terminal.enter("/exit").await;
    terminal.ends().await;
    let done = desk.close().await.asked(4);
    assert_eq!(done.reports[2].traffic, Traffic::Background(Chore::Compaction));
    assert!(done.last().contains("A file was made."), "the summary is there");
    assert!(!done.last().contains("Kindly make a file"), "what it sums up is not: {}", done.last());
}

#[tokio::test]
async fn on_anthropic() {
    a_person_works(Wire::Anthropic).await;
}

#[tokio::test]
async fn on_responses() {
    a_person_works(Wire::Responses).await;
}

#[tokio::test]
async fn on_gemini() {
    a_person_works(Wire::Gemini).await;
}
