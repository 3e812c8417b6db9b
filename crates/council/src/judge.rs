//! The question for the judge, and its verdict.

use junto_llm::{Error, ErrorKind, Message, Request, Response, ResponseFormat};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::choose::Group;
use crate::gather::Proposal;
use crate::view;

const INSTRUCTION: &str = include_str!("judge.md");

/// Asks which of these proposals to take. Those that say the same are shown once, and members are not named:
/// it is their words that count.
pub(crate) fn question(request: &Request, proposals: &[Proposal<'_>], groups: &[Group]) -> Request {
    let numbered: Vec<Value> = (groups.iter().enumerate())
        .filter_map(|(index, group)| {
            let proposal = proposals.get(group.first)?;
            Some(view::proposal(index, group.votes, &proposal.response))
        })
        .collect();
    let material = json!({
        "conversation": view::conversation(&request.messages),
        "proposals": numbered,
    });
    let format = ResponseFormat::JsonSchema { name: "verdict".to_owned(), schema: schema(), strict: true };
    Request {
        response_format: Some(format),
        ..Request::of([Message::system(INSTRUCTION), Message::user(material.to_string())])
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "index": {"type": "integer", "description": "The index of the chosen proposal."},
            "reason": {"type": "string", "description": "Why, in one short sentence."},
        },
        "required": ["index", "reason"],
        "additionalProperties": false,
    })
}

/// The chosen index out of so many, and why.
///
/// # Errors
/// `no_object` if the answer names no proposal.
pub(crate) fn verdict(response: &Response, count: usize) -> Result<(usize, String), Error> {
    #[derive(Deserialize)]
    struct Verdict {
        index: usize,
        #[serde(default)]
        reason: String,
    }
    let fault = |message: String| Error::new(ErrorKind::NoObject, message).with_provider(&response.provider);
    let text = response.text();
    let Verdict { index, reason } = serde_json::from_str(object_in(&text))
        .map_err(|e| fault(format!("the verdict is not the object that was asked for: {e}")))?;
    if index >= count {
        return Err(fault(format!("the verdict names proposal {index}; there are {count}, from 0")));
    }
    Ok((index, reason))
}

/// The JSON object in a text: providers that do not enforce the format put fences or words around it.
fn object_in(text: &str) -> &str {
    match (text.find('{'), text.rfind('}')) {
        (Some(start), Some(end)) => text.get(start..=end).unwrap_or(text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Member;
    use crate::scripted::{Scripted, call, text};

    #[test]
    fn verdicts_are_checked() {
        let check = |said: &str, expected: Result<usize, &str>| match (verdict(&text(said), 2), expected) {
            (Ok((index, ..)), expected) => assert_eq!(Ok(index), expected, "{said}"),
            (Err(error), Err(part)) => assert!(error.message().contains(part), "{said}: {error}"),
            (Err(error), Ok(_)) => panic!("{said}: {error}"),
        };
        check(r#"{"index": 1, "reason": "better"}"#, Ok(1));
        check(r#"{"index": 0}"#, Ok(0));
        check("Here you are:\n```json\n{\"index\": 1, \"reason\": \"}\"}\n```", Ok(1));
        check(r#"{"index": 2, "reason": ""}"#, Err("there are 2"));
        check(r#"{"index": -1, "reason": ""}"#, Err("not the object"));
        check(r#"{"index": "1"}"#, Err("not the object"));
        check("the second", Err("not the object"));
        check("} nonsense {", Err("not the object"));
        check("", Err("not the object"));
    }

    #[test]
    fn the_judge_sees_numbered_proposals_without_names() {
        let member = Member::new("somebody", Arc::new(Scripted::answers(text(""))));
        let responses = [text("It rains."), call("weather", r#"{"city": "Rome"}"#), text("It rains.")];
        let proposals = responses.map(|response| Proposal { member: &member, place: 0, response });
        let groups = [Group { first: 0, votes: 2 }, Group { first: 1, votes: 1 }];
        let asked = question(&Request::prompt("Does it rain?"), &proposals, &groups);
        assert!(asked.tools.is_empty() && asked.model.is_none());
        let material: Value = serde_json::from_str(&asked.messages[1].text()).unwrap();
        assert_eq!(
            material,
            json!({
                "conversation": [{"role": "user", "text": "Does it rain?"}],
                "proposals": [
                    {"index": 0, "votes": 2, "text": "It rains."},
                    {"index": 1, "votes": 1, "calls": [{"name": "weather", "arguments": "{\"city\": \"Rome\"}"}]},
                ],
            })
        );
    }
}
