//! Everything at once: calls side by side to a server that dies, hangs, floods and talks nonsense in between.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::bench::{Bench, faulty, named};

/// Numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

const TOOLS: [&str; 8] = ["echo", "echo", "die", "hang", "garble", "flood", "huge", "data"];

/// Each call ends, those to another server are not touched, and in the end both servers answer and nothing is left.
async fn storm(seed: u64) {
    let mut dice = Dice(seed);
    let mut server = faulty(&[]);
    server.answer_within = Duration::from_secs(3);
    let bench = Bench::ready(vec![server, named("calm", &[])]).await;
    for _ in 0..4 {
        let tools: Vec<&str> = (0..4).map(|_| TOOLS[dice.roll(TOOLS.len())]).collect();
        let calls = tools.iter().map(|tool| {
            let name = format!("faulty__{tool}");
            let bench = &bench;
            async move { bench.call(&name, json!({"text": "x"})).await }
        });
        let (outcomes, calm) = tokio::join!(join_all(calls), bench.text("calm__echo", json!({"text": "y"})));
        assert_eq!((outcomes.len(), calm.as_str()), (4, "echo says: y"), "{tools:?}");
        for (tool, outcome) in tools.iter().zip(&outcomes) {
            let fails = !matches!(*tool, "echo" | "data");
            // What is sound fails only with a neighbour that takes the server away.
            let alone = tools.iter().all(|tool| matches!(*tool, "echo" | "data" | "garble"));
            if fails || alone {
                assert_eq!(outcome.is_error, fails, "{tool} of {tools:?}: {}", outcome.output.preview());
            }
        }
    }
    let mut still = bench.call("faulty__echo", json!({"text": "still"})).await;
    // A flood that came too slowly while its own call lasted is noticed in the next, which ends with the server.
    if still.is_error && still.output.preview().contains("without end that answer nothing") {
        still = bench.call("faulty__echo", json!({"text": "still"})).await;
    }
    assert_eq!(still.output.preview(), "echo says: still");
    bench.close().await;
}

#[tokio::test]
async fn every_call_ends_and_the_servers_answer_afterwards() {
    for seed in [1, 7, 20] {
        storm(seed).await;
    }
}
