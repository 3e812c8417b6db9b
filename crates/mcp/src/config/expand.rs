//! `${NAME}` and `${NAME:-otherwise}` in texts, as other hosts have them.

/// Puts in what variables stand for. A text that names a variable which is not there, and says nothing for that
/// case, is an error with its name.
pub(super) fn expand(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, after)) = left.split_once("${") {
        expanded.push_str(before);
        let Some((inner, rest)) = after.split_once('}') else {
            return Err(format!("`${{{after}` has no end"));
        };
        let (name, otherwise) = match inner.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inner, None),
        };
        let value = variables(name).or_else(|| otherwise.map(str::to_owned));
        expanded.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        left = rest;
    }
    expanded.push_str(left);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
        let known = |name: &str| (name == "A").then(|| "1".to_owned());
        let check = |text: &str, expected: Result<&str, &str>| {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, &known), expected, "{text}");
        };
        check("plain $A", Ok("plain $A"));
        check("${A}", Ok("1"));
        check("x${A}y${A}z", Ok("x1y1z"));
        check("${A:-2}", Ok("1"));
        check("${B:-2}/c", Ok("2/c"));
        check("${B:-}", Ok(""));
        check("${B}", Err("the variable B is not set"));
        check("${B", Err("`${B` has no end"));
    }
}
