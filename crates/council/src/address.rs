//! The client's request as each member gets it.

use junto_llm::{Message, Request, Role, ToolChoice};

use crate::{Manner, Member, actions};

/// The client's request for this member. Only the address differs, how hard it shall think, and what
/// it is told beside what the client says; a member that can only write gets it as a document.
pub(crate) fn for_member(request: &Request, member: &Member, directive: Option<&str>) -> Request {
    let told = told(member, directive);
    match member.manner {
        Manner::Native => addressed(framed(request.clone(), &told), member),
        Manner::Actions if actions::is_needed(request) => {
            addressed(actions::question(request, &told), member)
        }
        Manner::Actions => addressed(without_tools(framed(request.clone(), &told)), member),
    }
}

/// The client's request for a member that shall only give notes on it.
pub(crate) fn for_advisor(request: &Request, member: &Member, directive: Option<&str>, ask: &str) -> Request {
    to_write(&framed(request.clone(), &told(member, directive)), member, ask.to_owned())
}

fn told(member: &Member, directive: Option<&str>) -> String {
    let told: Vec<&str> = member.framing.as_deref().into_iter().chain(directive).map(str::trim).collect();
    told.join("\n\n")
}

/// A question of the council's own for this member.
pub(crate) fn addressed(mut request: Request, member: &Member) -> Request {
    request.model.clone_from(&member.model);
    request.provider.clone_from(&member.provider_name);
    if member.effort.is_some() {
        request.reasoning_effort.clone_from(&member.effort);
    }
    if member.manner == Manner::Actions {
        // What can only write cannot be bound to a form; the question says it in words.
        request.response_format = None;
    }
    request
}

/// The client's request for somebody who shall write a text and call nothing. The tools stay declared
/// where that can be, since the history speaks of them and the cached prefix begins with them.
pub(crate) fn to_write(request: &Request, member: &Member, last: String) -> Request {
    let mut request = Request { response_format: None, ..request.clone() };
    request.messages.push(Message::user(last));
    if member.manner == Manner::Actions || !member.provider.supports_tool_choice(&ToolChoice::None) {
        return addressed(without_tools(request), member);
    }
    request.tool_choice = (!request.tools.is_empty()).then_some(ToolChoice::None);
    addressed(request, member)
}

fn without_tools(request: Request) -> Request {
    Request { tools: Vec::new(), tool_choice: None, parallel_tool_calls: None, ..request }
}

/// A request with something more among its instructions. It stands behind the client's own, and in
/// every turn at the same place: what a provider has cached of the conversation stays valid.
fn framed(mut request: Request, told: &str) -> Request {
    if told.is_empty() {
        return request;
    }
    let is_instruction = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let place = request.messages.iter().take_while(is_instruction).count();
    request.messages.insert(place, Message::system(told));
    request
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use junto_llm::{Effort, ToolSpec};
    use serde_json::json;

    use super::*;
    use crate::scripted::{Scripted, text};

    fn member() -> Member {
        Member::new("a", Arc::new(Scripted::answers(text("")))).model("m")
    }

    fn request() -> Request {
        let tool = ToolSpec::new("f", "", json!({"type": "object"})).unwrap();
        let messages = [Message::system("Be brief."), Message::developer("Yes."), Message::user("?")];
        Request::of(messages).model("council").provider("council").max_tokens(5).tools([tool])
    }

    #[test]
    fn without_a_framing_only_the_address_differs() {
        let sent = for_member(&request(), &member(), None);
        assert_eq!(sent, Request { model: Some("m".into()), provider: None, ..request() });
    }

    #[test]
    fn advisors_have_their_framing_too() {
        let sent = for_advisor(&request(), &member().framing("Look for faults."), None, "Give notes.");
        assert_eq!(sent.messages.get(2), Some(&Message::system("Look for faults.")));
        assert_eq!(sent.messages.last(), Some(&Message::user("Give notes.")));
        assert_eq!(sent.tool_choice, Some(ToolChoice::None));
    }

    #[test]
    fn the_framing_stands_behind_the_clients_instructions() {
        let framed = Member { effort: Some(Effort::Low), ..member().framing("Look for faults.\n") };
        let mut sent = for_member(&request(), &framed, Some("Be thorough."));
        assert_eq!(sent.messages.remove(2), Message::system("Look for faults.\n\nBe thorough."));
        let expected = Request {
            model: Some("m".into()),
            provider: None,
            reasoning_effort: Some(Effort::Low),
            ..request()
        };
        assert_eq!(sent, expected);
    }

    #[test]
    fn who_shall_write_can_call_nothing() {
        let sent = to_write(&request(), &member(), "Sum up.".into());
        assert_eq!((sent.tool_choice, sent.tools.len()), (Some(ToolChoice::None), 1));
        assert_eq!(sent.messages.last().unwrap().text(), "Sum up.");
        let sent = to_write(&request(), &member().manner(Manner::Actions), "Sum up.".into());
        assert_eq!((sent.tool_choice, sent.tools.len()), (None, 0));
    }
}
