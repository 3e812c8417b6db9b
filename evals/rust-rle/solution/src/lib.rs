//! Packs runs of characters.

const MOST: usize = 1_000_000;

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
        if c.is_ascii_digit() || c == '\\' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The text of a packed form.
pub fn unpack(packed: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut total = 0_usize;
    let mut last = None;
    let mut chars = packed.chars().peekable();
    while chars.peek().is_some() {
        let mut count: Option<usize> = None;
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            chars.next();
            if count.is_none() && digit == 0 {
                return Err("a length begins with a zero".to_owned());
            }
            let so_far = count.unwrap_or(0).saturating_mul(10).saturating_add(digit as usize);
            count = Some(so_far);
        }
        if count == Some(1) {
            return Err("a length of one".to_owned());
        }
        let c = match chars.next() {
            None => return Err("a length with nothing after it".to_owned()),
            Some('\\') => match chars.next() {
                Some(c) if c.is_ascii_digit() || c == '\\' => c,
                _ => return Err("a backslash before nothing special".to_owned()),
            },
            Some(c) => c,
        };
        if last == Some(c) {
            return Err("two runs of one character".to_owned());
        }
        last = Some(c);
        let count = count.unwrap_or(1);
        total = total.saturating_add(count);
        if total > MOST {
            return Err("too long".to_owned());
        }
        out.extend(std::iter::repeat(c).take(count));
    }
    Ok(out)
}
