//! The encrypted content of reasoning items.
//!
//! A real provider hides the reasoning in it. A twin has nothing to hide and seals two things: that
//! the content belongs to the item and the model, and what the item's summary said. So an item that
//! comes back without its summary is still recognised, and one with a changed summary is not.

use junto_llm::Wire;

use crate::sign::Signer;

/// Seals a reasoning item.
pub(in super::super) fn seal(signer: &Signer, model: &str, id: &str, summary: &str) -> String {
    let said = said(signer, model, id, summary);
    format!("{}{said}", belongs(signer, model, id, &said))
}

/// Whether this content was sealed for the same item and model, and for the same summary if there is
/// one.
pub(super) fn is_genuine(signer: &Signer, model: &str, id: &str, summary: &str, content: &str) -> bool {
    let Some((head, tail)) = content.split_at_checked(content.len() / 2) else { return false };
    head == belongs(signer, model, id, tail)
        && (summary.is_empty() || tail == said(signer, model, id, summary))
}

fn belongs(signer: &Signer, model: &str, id: &str, said: &str) -> String {
    signer.sign(Wire::Responses, model, &format!("item {id} {said}"))
}

fn said(signer: &Signer, model: &str, id: &str, summary: &str) -> String {
    signer.sign(Wire::Responses, model, &format!("summary {id} {summary}"))
}

#[cfg(test)]
mod seal_tests {
    use super::*;

    #[test]
    fn a_seal_holds_for_its_item_model_and_summary() {
        let signer = Signer::new("k");
        let content = seal(&signer, "m", "rs_1", "thought");
        let holds = |model: &str, id: &str, summary: &str, content: &str| {
            is_genuine(&signer, model, id, summary, content)
        };
        assert!(holds("m", "rs_1", "thought", &content));
        assert!(holds("m", "rs_1", "", &content), "without its summary");
        assert!(!holds("n", "rs_1", "thought", &content));
        assert!(!holds("m", "rs_2", "thought", &content));
        assert!(!holds("m", "rs_1", "thoughts", &content));
        assert!(!holds("m", "rs_1", "", ""));
        assert!(!holds("m", "rs_1", "", "\u{e9}\u{e9}\u{e9}"));
        for i in 0..content.len() {
            let mut bytes = content.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            assert!(!holds("m", "rs_1", "", &String::from_utf8(bytes).unwrap()), "byte {i}");
        }
    }
}
