"""Anthropic's own SDK drives the twin: if it is content, the twin speaks the wire."""

import anthropic

from sdk_checks import (
    ADA, CHAIN_ANSWER, CITY_SCHEMA, HELLO, KEY, WEATHER, WEATHER_ANSWER, Person, address, equal, raises, true,
)

MODEL = "claude-sonnet-4-5"
TOOLS = [{"name": "weather", "description": "The weather of a city", "input_schema": CITY_SCHEMA}]
THINKING = {"type": "enabled", "budget_tokens": 1024}


def client(url: str, key: str = KEY) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)


def text_of(message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def whole(api, **request):
    return api.messages.create(model=MODEL, max_tokens=4096, **request)


def streamed(api, **request):
    """The SDK's accumulator must get the same message from the pieces as from the snapshot."""
    with api.messages.stream(model=MODEL, max_tokens=4096, **request) as stream:
        pieces = "".join(stream.text_stream)
        message = stream.get_final_message()
    equal("the streamed text adds up", pieces, text_of(message))
    return message


def results(message) -> list:
    calls = [block for block in message.content if block.type == "tool_use"]
    return [{"type": "tool_result", "tool_use_id": c.id, "content": WEATHER[c.input["city"]]} for c in calls]


def tool_loop(api, ask, prompt: str) -> tuple[list, list]:
    """The messages with all the model said, thinking included, sent back as it came."""
    messages, answers = [{"role": "user", "content": prompt}], []
    while True:
        answer = ask(api, messages=messages, tools=TOOLS, thinking=THINKING)
        answers.append(answer)
        messages.append({"role": "assistant", "content": answer.content})
        if answer.stop_reason != "tool_use":
            return answers, messages
        messages.append({"role": "user", "content": results(answer)})


def check_mode(api, name: str, ask) -> None:
    hello = ask(api, messages=[{"role": "user", "content": "Hello"}])
    equal(f"{name}: text", text_of(hello), HELLO)
    equal(f"{name}: stop reason", hello.stop_reason, "end_turn")
    true(f"{name}: usage", hello.usage.input_tokens > 0 and hello.usage.output_tokens > 0, hello.usage)

    answers, _ = tool_loop(api, ask, "What is the weather?")
    first = answers[0]
    kinds = [block.type for block in first.content]
    equal(f"{name}: thinking, then two calls side by side", kinds, ["thinking", "tool_use", "tool_use"])
    true(f"{name}: the thinking is signed", first.content[0].signature)
    equal(f"{name}: arguments", [b.input["city"] for b in first.content[1:]], ["Paris", "Oslo"])
    equal(f"{name}: the answer to both results", text_of(answers[-1]), WEATHER_ANSWER)

    answers, _ = tool_loop(api, ask, "A chain, please")
    equal(f"{name}: three rounds and an answer", len(answers), 4)
    equal(f"{name}: the answer after the chain", text_of(answers[-1]), CHAIN_ANSWER)


def check_errors(url: str, api) -> None:
    hello = [{"role": "user", "content": "Hello"}]
    raises("a wrong key", anthropic.AuthenticationError, whole, client(url, "wrong-key"), messages=hello)
    limited = [{"role": "user", "content": "Over the limit"}]
    error = raises("a rate limit", anthropic.RateLimitError, whole, api, messages=limited)
    equal("the time to wait", error.response.headers["retry-after"], "7")
    raises("a rate limit of a stream", anthropic.RateLimitError, streamed, api, messages=limited)
    raises("no max_tokens", anthropic.BadRequestError, api.post, "/v1/messages",
           body={"model": MODEL, "messages": hello}, cast_to=object)

    _, messages = tool_loop(api, whole, "What is the weather?")
    thinking = messages[1]["content"][0]
    changed = thinking.model_copy(update={"thinking": thinking.thinking + " "})
    messages[1]["content"] = [changed, *messages[1]["content"][1:]]
    raises("thinking changed by one byte", anthropic.BadRequestError, whole, api,
           messages=messages[:3], tools=TOOLS, thinking=THINKING)


def check_rest(api) -> None:
    prompt = [{"role": "user", "content": "A person, please"}]
    schema = {"type": "json_schema", "schema": anthropic.transform_schema(Person)}
    for name, ask in [("whole", whole), ("streamed", streamed)]:
        answer = ask(api, messages=prompt, output_config={"format": schema})
        equal(f"{name}: structured output", Person.model_validate_json(text_of(answer)), ADA)
    count = api.messages.count_tokens(model=MODEL, messages=prompt)
    true("count_tokens", count.input_tokens > 0, count)
    true("the list of models", any(MODEL in model.id for model in api.models.list()))


def main() -> None:
    url = address()
    api = client(url)
    check_mode(api, "whole", whole)
    check_mode(api, "streamed", streamed)
    check_errors(url, api)
    check_rest(api)
    print("ok")


if __name__ == "__main__":
    main()
