//! What is written is what `serde_json` writes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::write;

fn check(value: &(impl Serialize + std::fmt::Debug)) {
    let mut ours = b"before".to_vec();
    let theirs = serde_json::to_vec(value);
    let written = write(value, &mut ours);
    match theirs {
        Ok(theirs) => {
            written.unwrap();
            let ours = ours.strip_prefix(b"before").unwrap();
            assert_eq!(String::from_utf8_lossy(ours), String::from_utf8_lossy(&theirs), "{value:?}");
        }
        Err(_) => assert!(written.is_err(), "{value:?}"),
    }
}

#[derive(Debug, Serialize)]
struct Unit;

#[derive(Debug, Serialize)]
struct Newtype(u8);

#[derive(Debug, Serialize)]
struct Tuple(u8, String);

#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Plain {
    One,
    Two,
}

#[derive(Debug, Serialize)]
enum Kinds {
    Unit,
    Newtype(&'static str),
    Tuple(u8, i64),
    Struct { a: f64, b: Option<bool> },
}

#[derive(Debug, Serialize)]
struct Flat {
    first: u32,
    #[serde(flatten)]
    rest: Tagged,
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<u8>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged {
    OfText { text: String, kinds: Vec<Kinds> },
}

#[test]
fn every_kind_of_value() {
    check(&(1_i8, -2_i16, 3_i32, i64::MIN, i128::MIN, (4_u8, 5_u16, 6_u32, u64::MAX, u128::MAX)));
    check(&(1.5_f32, 1e300_f64, f64::NAN, 'é', '"', "\u{7f}", (), Unit, Newtype(1), Tuple(2, "x".into())));
    check(&[Some(true), None]);
    check(&[Kinds::Unit, Kinds::Newtype("a\nb"), Kinds::Tuple(1, -1), Kinds::Struct { a: 0.1, b: None }]);
    let rest = Tagged::OfText { text: "a\"b\\".into(), kinds: vec![Kinds::Unit, Kinds::Newtype("")] };
    check(&Flat { first: 1, rest, none: None });
    check(&serde_json::from_str::<Box<RawValue>>("{ \"as\" : [1, \"it\\u0041\"] }").unwrap());
    let nothing: [Value; 0] = [];
    check(&json!({"a": {}, "b": [], "c": nothing, "\n": {"": null}}));
}

#[test]
fn every_kind_of_key() {
    check(&BTreeMap::from([("a\"", 1), ("b", 2)]));
    check(&BTreeMap::from([(1_u8, 1), (2, 2)]));
    check(&BTreeMap::from([(-1_i64, 1)]));
    check(&BTreeMap::from([(true, 1)]));
    check(&BTreeMap::from([('"', 1), ('x', 2)]));
    check(&BTreeMap::from([(Plain::One, 1), (Plain::Two, 2)]));
    check(&BTreeMap::from([(junto_core::AgentId("a".to_owned()).0, 1)]));
    check(&BTreeMap::from([((1, 2), 1)]));
    check(&BTreeMap::from([(vec![1], 1)]));
    check(&BTreeMap::from([((), 1)]));
}

#[test]
fn long_texts() {
    for piece in [
        "plain words and nothing else ",
        "fn main() {\n\tprintln!(\"a\\b\");\n}\n",
        "\"",
        "\u{1}",
        "ä\n€\u{7f}",
    ] {
        for length in [8191, 8192, 8193, 10_000, 30_000] {
            check(&piece.repeat(length / piece.len() + 1));
        }
    }
    // A few of each kind between many plain bytes, at every place of a block.
    for step in [31, 32, 33, 63, 64, 65, 1023, 1024] {
        let specials = ['\n', '"', '\u{2}', '\\'].into_iter().cycle();
        let text: String = specials
            .take(40_000 / step)
            .flat_map(|c| "x".repeat(step).chars().chain([c]).collect::<Vec<_>>())
            .collect();
        check(&text);
    }
}

#[test]
fn every_byte_wherever_it_stands() {
    for byte in 0..0x80_u8 {
        for before in [0, 1, 14, 15, 16, 17, 47, 63, 64, 65, 127, 128] {
            for after in [0, 1, 15, 16, 64] {
                check(&format!("{}{}{}", "x".repeat(before), char::from(byte), "y".repeat(after)));
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text(parts in prop::collection::vec(prop_oneof!["[ -~]{0,90}", "\\PC{0,20}", "[\\x00-\\x1f\"\\\\]{0,9}"], 0..12)) {
        let text = parts.concat();
        check(&text);
        // In pieces, too.
        let shown = format!("{text:?}");
        let mut ours = Vec::new();
        write(&format_args!("{text:?}"), &mut ours).unwrap();
        prop_assert_eq!(ours, serde_json::to_vec(&shown).unwrap());
    }
}
