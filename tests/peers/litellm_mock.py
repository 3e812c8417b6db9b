"""The models behind the litellm proxy. They decide what is said; how it is said on each wire, whole or
streamed, is litellm's own work. (Its `mock_response` setting does not stream on two of the three.)

text     answers with one sentence
tools    calls `weather` for two cities at once, then tells the results
limited  is always over its rate limit
"""

import json

import litellm

SENTENCE = "The mock answers in one plain sentence."
CITIES = ["Paris", "Oslo"]


def plan(model: str, messages: list) -> tuple[str, list]:
    """What is said: a text, or calls as (id, name, arguments)."""
    if model == "limited":
        raise litellm.RateLimitError("over the limit", llm_provider="mock", model=model)
    results = [m["content"] for m in messages if m["role"] == "tool"]
    if model != "tools":
        return SENTENCE, []
    if results:
        return f"Results: {results}", []
    return "", [(f"call_{city.lower()}", "weather", json.dumps({"city": city})) for city in CITIES]


def usage(messages: list, output: str) -> dict:
    """Words for tokens: made up, but the same every time."""
    prompt = sum(len(str(m.get("content")).split()) for m in messages)
    answer = max(1, len(output.split()))
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


class Mock(litellm.CustomLLM):
    async def acompletion(self, model, messages, **_kwargs):
        text, calls = plan(model, messages)
        message = litellm.Message(role="assistant", content=text or None)
        if calls:
            message.tool_calls = [
                litellm.ChatCompletionMessageToolCall(
                    id=call_id, type="function", function={"name": name, "arguments": arguments}
                )
                for call_id, name, arguments in calls
            ]
        choice = litellm.Choices(finish_reason="tool_calls" if calls else "stop", message=message)
        return litellm.ModelResponse(
            model=model, choices=[choice], usage=litellm.Usage(**usage(messages, text))
        )

    async def astreaming(self, model, messages, **_kwargs):
        text, calls = plan(model, messages)

        def chunk(text="", tool_use=None, finish_reason="", usage=None):
            return {
                "text": text,
                "tool_use": tool_use,
                "is_finished": bool(finish_reason),
                "finish_reason": finish_reason,
                "usage": usage,
                "index": 0,
            }

        for start in range(0, len(text), 7):
            yield chunk(text=text[start : start + 7])
        for index, (call_id, name, arguments) in enumerate(calls):
            half = len(arguments) // 2
            for part, whole_name, whole_id in [(arguments[:half], name, call_id), (arguments[half:], None, None)]:
                function = {"name": whole_name, "arguments": part}
                yield chunk(tool_use={"id": whole_id, "type": "function", "function": function, "index": index})
        yield chunk(finish_reason="tool_calls" if calls else "stop", usage=usage(messages, text))


handler = Mock()
