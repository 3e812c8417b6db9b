//! The entry point of the fuzz target, on every run: with generated texts, and with seeds that are damaged at random.

use proptest::prelude::*;

#[path = "../../../../fuzz/src/policy.rs"]
#[expect(unreachable_pub, reason = "public for the fuzz targets")]
mod targets;

const SEEDS: [&str; 3] = [
    include_str!("../../../../fuzz/seeds/policy/nested"),
    include_str!("../../../../fuzz/seeds/policy/commands"),
    include_str!("../../../../fuzz/seeds/policy/wrapped"),
];

/// A seed with some of its characters exchanged for bits of the grammar.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let bits = [
        "\n", "'", "\"", "`", "$(", "${", "$((", "))", "(", ")", "{", "}", "[[", "]]", ";", ";;", "&", "|",
        "<", "<<E\n", ">", "#", "!", "~", "\\", " ", "", "*", "\u{200b}", "\0", "é", "in", "do", "done",
        "esac", "=", "+=", "@", ":",
    ];
    let damage = (any::<prop::sample::Index>(), 0..6_usize, prop::sample::select(bits.to_vec()));
    let seed = prop::sample::select(SEEDS.to_vec());
    (seed, prop::collection::vec(damage, 0..6)).prop_map(move |(seed, damages)| {
        let mut text = seed.to_owned();
        for (at, length, bit) in damages {
            let start = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary(start + length).max(start);
            text.replace_range(start..end, bit);
        }
        text.into_bytes()
    })
}

#[test]
fn the_seeds_hold() {
    for seed in SEEDS {
        targets::policy(seed.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        targets::policy(&data);
    }

    #[test]
    fn any_signs(data in "[a-z $(){}<>|&;'\"`\\\\\n*?\\[\\]#!~=-]{0,60}") {
        targets::policy(data.as_bytes());
    }

    #[test]
    fn damaged_lines(data in damaged()) {
        targets::policy(&data);
    }
}
