//! What is masked, and what is not.

use proptest::prelude::*;

use super::*;

const SK: &str = "sk-ant-api03-abcdEFGH1234ijklMNOP5678";
const AIZA: &str = "AIzaSyA1234567890abcdefghijklmnopqrstuv";
const GHP: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const KNOWN: &str = "known-secret-of-the-host";
const AKIA: &str = "AKIAIOSFODNN7EXAMPLE";
const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA04up8hoqzS1+APIB0RhjXyObwHQnOzhAk5Bd7mhkSbPkyhP1\n\
                   +iWlX9HNavcydATJc1f0DpzF0u4zY8PY24RVoW8vk+bJANPp1o2IAkeajCaF3w9n\n-----END RSA PRIVATE KEY-----\n";

fn masked(redact: &Redactor, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    redact.mask(&mut bytes);
    assert_eq!(bytes.len(), text.len());
    String::from_utf8(bytes).unwrap()
}

/// A mask of this length.
fn mask(length: usize) -> String {
    format!("{:*<length$}", "[redacted]")
}

/// A text in which secrets stand between braces, and what is to be seen of it.
fn check(redact: &Redactor, text: &str) {
    let mut expected = String::new();
    for (n, part) in text.split(['⟦', '⟧']).enumerate() {
        expected += &if n % 2 == 1 { mask(part.len()) } else { part.to_owned() };
    }
    assert_eq!(masked(redact, &text.replace(['⟦', '⟧'], "")), expected);
}

#[test]
fn keys_are_told_by_their_shape() {
    let check = |text: &str| check(&Redactor::default(), text);
    check(&format!("⟦{SK}⟧"));
    check(&format!("the key is ⟦{SK}⟧."));
    check(&format!("OPENAI_API_KEY=⟦{SK}⟧\nGOOGLE=⟦{AIZA}⟧\n"));
    check(&format!("x?key=⟦{AIZA}⟧&y"));
    check(&format!("git clone https://⟦{GHP}⟧@github.com/a/b"));
    check(&format!("aws_access_key_id = ⟦{AKIA}⟧"));
    check("aws_secret_access_key = ⟦wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY⟧");
    check("\"SecretAccessKey\": \"⟦wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY⟧\"");
    check("Authorization: Bearer ⟦ya29.a0AfH6SMBx-abcdefghijklmnopqrst.uvw==⟧\r\n");
    check("-H 'authorization: bearer ⟦abcdefghijklmnop0123456789⟧'");
}

#[test]
fn keys_are_found_in_json_also_in_json_within_json() {
    let redact = Redactor::default();
    let escapes = ["\n", "\t", "\"", "\u{1b}", "\\", "é"];
    for before in escapes {
        let text = serde_json::json!({"text": format!("a{before}{SK}{before}b")}).to_string();
        let nested = serde_json::json!({"text": text}).to_string();
        for text in [text, nested] {
            let seen = masked(&redact, &text);
            assert!(!seen.contains(SK) && seen.contains(&mask(SK.len())), "{seen}");
            serde_json::from_str::<serde_json::Value>(&seen).unwrap();
        }
    }
}

#[test]
fn what_is_no_key_stays() {
    let long = "QUl6YVN5".repeat(1000);
    for text in [
        "sk-learn-contributors-and-their-guide-of-2024",
        "risk-ant-api03-abcdEFGH1234ijklMNOP5678",
        "sk-short-1",
        "https://example.com/a/very/long/path/with-many-parts/and_names/1234567890abcdef1234567890",
        "0190f3c1a2b37c4d8e5f6a7b8c9d0e1f",
        "AIzaSyA1234567890abcdefghijklmnopqrstuvAndMore",
        "AKIAIOSFODNN7EXAMPLEX",
        "Bearer tokens-are-explained-elsewhere-in-this-text",
        "-----BEGIN PRIVATE KEY-----",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { return Err(\"no\") }",
        "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA04up8hoqzS1+APIB0RhjXyObwHQnOzhAk5Bd7mhkSbPkyhP1\n",
        &format!("{long}AIzaSyA1234567890abcdefghijklmnopqrstuv{long}"),
        "",
        "é",
    ] {
        assert_eq!(masked(&Redactor::default(), text), text);
    }
}

#[test]
fn private_keys_lose_what_is_between_their_lines() {
    let redact = Redactor::default();
    for text in [PEM.to_owned(), serde_json::json!({"t": PEM}).to_string()] {
        let seen = masked(&redact, &text);
        assert!(seen.contains("-----BEGIN RSA PRIVATE KEY-----[redacted]***"), "{seen}");
        assert!(seen.contains("*-----END RSA PRIVATE KEY-----"), "{seen}");
        assert!(!seen.contains("MIIE") && !seen.contains("iWlX9"), "{seen}");
    }
    let cut_off = &PEM[..PEM.len() - 60];
    let seen = masked(&redact, &serde_json::json!({"t": cut_off, "u": "more"}).to_string());
    assert!(
        !seen.contains("MIIE") && !seen.contains("iWlX9") && seen.ends_with("\",\"u\":\"more\"}"),
        "{seen}"
    );
}

#[test]
fn known_secrets_are_found_anywhere() {
    let redact = Redactor::new(["correct horse \"battery\"", "hunter22", "word", "Zm9v"].map(Secret::from));
    let check = |text: &str| check(&redact, text);
    check("xx⟦correct horse \"battery\"⟧yy");
    assert_eq!(masked(&redact, "a hunter22b word"), "a ********b word");
    for text in ["correct horse \"battery\"", "hunter22"] {
        let json = serde_json::json!({"a": text}).to_string();
        let nested = serde_json::json!({"a": json}).to_string();
        for text in [json, nested] {
            let seen = masked(&redact, &text);
            assert!(!seen.contains("horse") && !seen.contains("hunter"), "{seen}");
            serde_json::from_str::<serde_json::Value>(&seen).unwrap();
        }
    }
    assert!(!format!("{redact:?}").contains("hunter"));
}

#[test]
fn known_keys_are_found_within_words_and_in_long_ones() {
    let redact = Redactor::new(["abcdefghijklmnop".into(), Secret::from("abcdefghijklmnop-qrs_t")]);
    let check = |text: &str| check(&redact, text);
    check("⟦abcdefghijklmnop⟧");
    check("x⟦abcdefghijklmnop⟧y ⟦abcdefghijklmnop-qrs_t⟧ abcdefghijklmno p");
    check("key_⟦abcdefghijklmnop⟧⟦abcdefghijklmnop⟧");
    let long = "QUJD".repeat(20_000);
    check(&format!("{long}⟦abcdefghijklmnop-qrs_t⟧{long}"));
    let text = format!("{long}abcdefghijklmnop{long}");
    let whole = masked(&redact, &text);
    for cut in [9, 40_000, 79_990, 80_000, 80_001, 80_009, 80_016, 80_020, 100_000] {
        assert_eq!(streamed(&redact, text.as_bytes(), &[cut]), whole.as_bytes(), "{cut}");
        assert_eq!(streamed(&redact, text.as_bytes(), &[cut / 2, cut]), whole.as_bytes(), "{cut}");
    }
}

#[test]
fn off_is_off() {
    assert_eq!(masked(&Redactor::off(), SK), SK);
    assert_eq!(Stream::new(Redactor::off()).push(SK.as_bytes()), SK.as_bytes());
}

/// The text after it went through a stream in pieces that are cut at these places.
fn streamed(redact: &Redactor, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut stream = Stream::new(redact.clone());
    let (mut out, mut from) = (Vec::new(), 0);
    for cut in cuts.iter().copied().chain([text.len()]) {
        out.extend(stream.push(&text[from..cut]));
        from = cut;
    }
    out.extend(stream.held());
    assert_eq!(out.len(), text.len());
    out
}

#[test]
fn a_secret_that_is_split_over_pieces_is_found() {
    let redact = Redactor::new([Secret::from("correct horse battery")]);
    let text = format!(
        "start {SK} middle Authorization: Bearer abcd.efghijklmnopqrstuvwxyz.0123456789 é {PEM} and \
         correct horse battery or {AIZA}"
    );
    let whole = masked(&redact, &text);
    for secret in [SK, AIZA, "MIIE", "horse", "mnopqrst"] {
        assert!(!whole.contains(secret), "{whole}");
    }
    for cut in 0..=text.len() {
        assert_eq!(streamed(&redact, text.as_bytes(), &[cut]), whole.as_bytes(), "{cut}");
    }
    for step in [1, 2, 3, 7, 40] {
        let cuts: Vec<_> = (0..text.len()).step_by(step).collect();
        assert_eq!(streamed(&redact, text.as_bytes(), &cuts), whole.as_bytes(), "{step}");
    }
}

#[test]
fn little_is_held_back_of_what_never_ends() {
    let mut stream = Stream::new(Redactor::default());
    for piece in ["-----BEGIN PRIVATE KEY-----\n".to_owned(), "QUJD".repeat(100_000), "QUJD".repeat(100_000)]
    {
        stream.push(piece.as_bytes());
        assert!(stream.held().len() <= 32 * 1024);
    }
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        parts in prop::collection::vec(
            prop_oneof![
                Just(SK.to_owned()), Just(AIZA.to_owned()), Just(GHP.to_owned()), Just(AKIA.to_owned()),
                Just(PEM.to_owned()), Just("Bearer ".to_owned()), Just(format!(" {KNOWN} ")), "[ -~é]{0,30}", "[A-Za-z0-9+/=]{0,80}",
            ],
            0..8,
        ),
        cuts in prop::collection::vec(0_usize..2000, 0..6),
    ) {
        let text = parts.concat();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let redact = Redactor::new([Secret::from(KNOWN)]);
        let streamed = String::from_utf8(streamed(&redact, text.as_bytes(), &cuts)).unwrap();
        prop_assert_eq!(streamed, masked(&redact, &text));
    }
}
