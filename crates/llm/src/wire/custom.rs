//! Custom tools: their formats, and how they are told of on wires that have only functions.

use serde_json::{Value, json};

use crate::{ToolSpec, Warning};

/// The syntax and the definition of a grammar. OpenAI's two wires spell it differently.
fn grammar(format: &Value) -> Option<(&str, &str)> {
    if format["type"] != "grammar" {
        return None;
    }
    let inner = format.get("grammar").unwrap_or(format);
    Some((inner["syntax"].as_str()?, inner["definition"].as_str()?))
}

/// A format as the Responses wire spells it, which is how we keep it.
pub(super) fn flat(format: Value) -> Value {
    match grammar(&format) {
        Some((syntax, definition)) => json!({"type": "grammar", "syntax": syntax, "definition": definition}),
        None => format,
    }
}

/// A format as Chat Completions spells it.
pub(super) fn nested(format: &Value) -> Value {
    match grammar(format) {
        Some((syntax, definition)) => {
            json!({"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}})
        }
        None => format.clone(),
    }
}

/// The description of a custom tool that is declared as a function. A function has no place for a
/// grammar, and a model that is not told of it does not know what to write.
pub(super) fn described(tool: &ToolSpec, format: Option<&Value>) -> (String, Option<Warning>) {
    let Some(format) = format else { return (tool.description.clone(), None) };
    let Some((syntax, definition)) = grammar(format) else {
        let message = format!("the format of the tool `{}` has no place in a function", tool.name);
        return (tool.description.clone(), Some(Warning::new("tool_format_dropped", message)));
    };
    let what = match syntax {
        "lark" => "Lark grammar".to_owned(),
        "regex" => "regular expression".to_owned(),
        other => format!("grammar ({other})"),
    };
    let told = format!("`input` must match this {what}:\n\n{definition}");
    let description =
        if tool.description.is_empty() { told } else { format!("{}\n\n{told}", tool.description) };
    let message = format!("the grammar of the tool `{}` stands in its description", tool.name);
    (description, Some(Warning::new("tool_format_described", message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolKind;

    #[test]
    fn grammars_are_told() {
        let check = |description: &str, format: Value, expected: &str, code: &str| {
            let kind = ToolKind::Custom { format: None };
            let tool = ToolSpec { name: "t".into(), description: description.into(), kind };
            let (told, warning) = described(&tool, Some(&format));
            assert_eq!((told.as_str(), warning.map(|w| w.code)), (expected, Some(code.to_owned())));
        };
        let (told, dropped) = ("tool_format_described", "tool_format_dropped");
        let lark = json!({"type": "grammar", "syntax": "lark", "definition": "start: /x/\n"});
        check(
            "Edits.",
            lark.clone(),
            "Edits.\n\n`input` must match this Lark grammar:\n\nstart: /x/\n",
            told,
        );
        check("", nested(&lark), "`input` must match this Lark grammar:\n\nstart: /x/\n", told);
        let regex = json!({"type": "grammar", "syntax": "regex", "definition": "^a+$"});
        check("d", regex, "d\n\n`input` must match this regular expression:\n\n^a+$", told);
        let other = json!({"type": "grammar", "syntax": "gbnf", "definition": "root"});
        check("d", other, "d\n\n`input` must match this grammar (gbnf):\n\nroot", told);
        check("d", json!({"type": "text"}), "d", dropped);
        check("d", json!({"type": "grammar"}), "d", dropped);
        assert_eq!(flat(nested(&lark)), lark);
        assert_eq!(flat(json!({"type": "text"})), json!({"type": "text"}));
    }
}
