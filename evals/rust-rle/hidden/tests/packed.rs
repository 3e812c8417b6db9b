use packed::{pack, unpack};

#[test]
fn packs() {
    for (text, form) in [
        ("", ""),
        ("a", "a"),
        ("aaab", "3ab"),
        ("aaaaaaaaaaaa", "12a"),
        ("11", "2\\1"),
        ("a1", "a\\1"),
        ("\\\\\\", "3\\\\"),
        ("\u{e4}\u{e4}\n\n", "2\u{e4}2\n"),
    ] {
        assert_eq!(pack(text), form, "{text:?}");
        assert_eq!(unpack(form).as_deref(), Ok(text), "{form:?}");
    }
}

#[test]
fn every_text_survives() {
    let alphabet = ['a', 'b', '0', '1', '9', '\\', '\u{20ac}', ' '];
    let mut seed = 12345_u32;
    for length in 0..300 {
        let text: String = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                alphabet[(seed >> 16) as usize % if seed >> 31 == 0 { 2 } else { 8 }]
            })
            .collect();
        assert_eq!(unpack(&pack(&text)).as_deref(), Ok(text.as_str()));
    }
}

#[test]
fn refuses_what_is_never_written() {
    for form in ["0a", "1a", "02a", "3", "a12", "\\", "\\a", "3\\a", "2\\", "aa", "2aa", "a3a", "2a3a", "\\1\\1"] {
        assert!(unpack(form).is_err(), "{form:?}");
    }
}

#[test]
fn is_not_talked_into_taking_all_memory() {
    for form in ["99999999a", "99999999999999999999999999a", "600000a600000b"] {
        assert!(unpack(form).is_err(), "{form:?}");
    }
    assert_eq!(unpack("1000000a").map(|text| text.len()), Ok(1_000_000));
}
