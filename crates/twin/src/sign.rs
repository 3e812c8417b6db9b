//! Signatures over what a twin's models "thought", and ids for what they answered.
//!
//! Real providers sign or encrypt reasoning so that they can recognise it when it comes back. A twin
//! does the same with a keyed hash: the signature holds for one wire, one model and exactly one
//! text. It is no protection against an attacker, only against a client that changes what it should
//! have kept.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_llm::Wire;
use sha2::{Digest, Sha256};

/// The first byte of every signature, so that an older form can be told apart.
const VERSION: u8 = 1;

/// Signs and verifies for one twin.
///
/// The secret follows from the twin's key alone, so a twin that is started again still recognises
/// its earlier signatures.
#[derive(Debug)]
pub struct Signer {
    secret: [u8; 32],
    issued: AtomicU64,
}

impl Signer {
    /// A signer whose secret follows from `key`.
    pub fn new(key: &str) -> Self {
        Self { secret: digest(&[b"junto-twin secret", key.as_bytes()]), issued: AtomicU64::new(0) }
    }

    /// The signature of a text: base64 of a version byte and a hash over secret, wire, model and
    /// text. Its 44 characters carry no spare bits, so that changing any one of them breaks it.
    pub fn sign(&self, wire: Wire, model: &str, text: &str) -> String {
        let hash = digest(&[&self.secret, wire.name().as_bytes(), model.as_bytes(), text.as_bytes()]);
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&hash);
        STANDARD.encode(bytes)
    }

    /// Whether [`Signer::sign`] gave this signature for exactly this wire, model and text.
    pub fn verify(&self, wire: Wire, model: &str, text: &str, signature: &str) -> bool {
        self.sign(wire, model, text) == signature
    }

    /// A new id with this prefix. `context` is what the id is made for: it keeps the ids of a
    /// restarted twin apart from the ones it gave the same conversation before.
    pub fn fresh_id(&self, prefix: &str, context: &[u8]) -> String {
        let n = self.issued.fetch_add(1, Ordering::Relaxed);
        let hash = digest(&[&self.secret, b"id", &n.to_le_bytes(), context]);
        let mut id = String::from(prefix);
        for byte in hash.iter().take(12) {
            id.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            id.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        }
        id
    }
}

/// The hash of several fields; each field's length goes in too, so that fields cannot run together.
pub(crate) fn digest(fields: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update((field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_signature_holds_for_one_wire_model_text_and_key() {
        let signer = Signer::new("k");
        let signature = signer.sign(Wire::Anthropic, "m", "thought");
        let holds = |s: &Signer, wire, model, text: &str, sig: &str| s.verify(wire, model, text, sig);
        assert!(holds(&signer, Wire::Anthropic, "m", "thought", &signature));
        assert!(holds(&Signer::new("k"), Wire::Anthropic, "m", "thought", &signature), "after a restart");
        assert!(!holds(&signer, Wire::Gemini, "m", "thought", &signature));
        assert!(!holds(&signer, Wire::Anthropic, "n", "thought", &signature));
        assert!(!holds(&signer, Wire::Anthropic, "m", "thoughu", &signature));
        assert!(!holds(&Signer::new("l"), Wire::Anthropic, "m", "thought", &signature));
    }

    #[test]
    fn changing_any_byte_breaks_a_signature() {
        let signer = Signer::new("k");
        let signature = signer.sign(Wire::Gemini, "m", "t");
        for i in 0..signature.len() {
            let mut bytes = signature.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(!signer.verify(Wire::Gemini, "m", "t", &changed), "byte {i}");
        }
    }

    #[test]
    fn ids_are_unique_and_keep_their_prefix() {
        let signer = Signer::new("k");
        let ids: BTreeSet<String> = (0..100).map(|_| signer.fresh_id("toolu_", b"")).collect();
        assert_eq!(ids.len(), 100);
        assert!(ids.iter().all(|id| id.starts_with("toolu_") && id.len() == 30));
        let restarted = Signer::new("k");
        assert_ne!(Signer::new("k").fresh_id("x", b"turn 1"), restarted.fresh_id("x", b"turn 2"));
    }
}
