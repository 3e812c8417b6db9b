//! What the request of a model call begins with, so that a cache that was missed can be explained.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a request begins with, as fingerprints. A provider reads from its cache what two requests in a row
/// have in common at their beginning, in this order: tools, system prompt, messages; all of it only for
/// the same model with the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prefix {
    /// Of the provider and the model that were asked for.
    pub model: Fingerprint,
    /// Of everything else that was asked for: effort, fields for one wire.
    pub options: Fingerprint,
    /// Of the tools.
    pub tools: Fingerprint,
    /// Of the system prompt.
    pub system: Fingerprint,
    /// Of all messages after it.
    pub messages: Fingerprint,
    /// How many they are.
    pub count: u32,
    /// How many of them, from the first on, the agent's previous request had too. Absent where there was
    /// none, or nobody remembers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
}

/// A short hash: what is equal has equal ones, and what differs, as good as always, different ones. It is
/// the same on every machine and in every version, and no protection against malice. In JSON it is a text
/// of 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::default().then(bytes)
    }

    /// The fingerprint of what this one is of, followed by these bytes.
    pub fn then(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let whole = words.iter().fold(self.0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        // The length tells trailing zeros from nothing.
        Self(mix(mix(whole, u64::from_le_bytes(last)), bytes.len() as u64))
    }
}

/// Each step can be undone for a known word, so that a difference is never lost on the way.
fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Fingerprint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fingerprint".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "A short hash, in hexadecimal digits."})
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_differs_has_different_fingerprints() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            assert!(seen.insert(Fingerprint::of(&vec![0; length])), "{length} zeros");
            for at in 0..length {
                let mut bytes = vec![0; length];
                bytes[at] = 1;
                assert!(seen.insert(Fingerprint::of(&bytes)), "{length} bytes, {at}");
            }
        }
    }

    #[test]
    fn it_goes_on_from_where_it_was() {
        let one = Fingerprint::of(b"one");
        assert_eq!(one.then(b"two"), Fingerprint::of(b"one").then(b"two"));
        assert_ne!(one.then(b"two"), Fingerprint::of(b"onetwo"));
        assert_ne!(one.then(b"two"), Fingerprint::of(b"two").then(b"one"));
    }

    /// Journals hold fingerprints, and later versions compare with them.
    #[test]
    fn it_never_changes() {
        assert_eq!(Fingerprint::of(b"").to_string(), "fff1953c365b0795");
        assert_eq!(Fingerprint::of(b"What a request begins with").to_string(), "01f98b7fb1c4cbcb");
        let json = serde_json::to_string(&Fingerprint(7)).unwrap();
        assert_eq!(json, "\"0000000000000007\"");
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), Fingerprint(7));
        assert!(serde_json::from_str::<Fingerprint>("\"seven\"").is_err());
    }
}
