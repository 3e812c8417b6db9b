//! Packs runs of characters.

/// The packed form of a text.
pub fn pack(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut count = 1;
        while chars.peek() == Some(&c) {
            chars.next();
            count += 1;
        }
        if count > 1 {
            out.push_str(&count.to_string());
        }
        out.push(c);
    }
    out
}

/// The text of a packed form.
pub fn unpack(packed: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = packed.chars();
    while let Some(c) = chars.next() {
        match c.to_digit(10) {
            Some(count) => {
                let c = chars.next().unwrap();
                for _ in 0..count {
                    out.push(c);
                }
            }
            None => out.push(c),
        }
    }
    Ok(out)
}
