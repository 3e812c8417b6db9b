"""Anthropic's own SDK in front of the gateway: on a provider of its own wire, or across wires."""

import sys

import anthropic

import sdk_anthropic as sdk
from sdk_checks import CHAIN_ANSWER, HELLO, WEATHER_ANSWER, equal, raises, true


def check_across(api, name: str, ask, late: bool) -> None:
    """What holds whatever wire the answer came from. Where an answer has begun, a failure comes late: in the stream."""
    hello = ask(api, messages=[{"role": "user", "content": "Hello"}])
    equal(f"{name}: text", sdk.text_of(hello), HELLO)
    equal(f"{name}: the model is the one asked for", hello.model, sdk.MODEL)
    equal(f"{name}: stop reason", hello.stop_reason, "end_turn")
    true(f"{name}: usage", hello.usage.input_tokens > 0 and hello.usage.output_tokens > 0, hello.usage)

    answers, _ = sdk.tool_loop(api, ask, "What is the weather?")
    calls = [block.input["city"] for block in answers[0].content if block.type == "tool_use"]
    equal(f"{name}: two calls side by side", calls, ["Paris", "Oslo"])
    equal(f"{name}: the answer to both results", sdk.text_of(answers[-1]), WEATHER_ANSWER)

    answers, _ = sdk.tool_loop(api, ask, "A chain, please")
    equal(f"{name}: three rounds and an answer", len(answers), 4)
    equal(f"{name}: the answer after the chain", sdk.text_of(answers[-1]), CHAIN_ANSWER)

    limited = [{"role": "user", "content": "Over the limit"}]
    if late:
        error = raises(f"{name}: a rate limit", anthropic.APIStatusError, ask, api, messages=limited)
        equal(f"{name}: the kind of failure", error.body["error"]["type"], "rate_limit_error")
        return
    error = raises(f"{name}: a rate limit", anthropic.RateLimitError, ask, api, messages=limited)
    equal(f"{name}: the time to wait", error.response.headers["retry-after"], "7")
    true(f"{name}: an id to ask about", error.request_id, error.response.headers)


def main() -> None:
    url, mode = sys.argv[1], sys.argv[2]
    api = sdk.client(url)
    for name, ask in [("whole", sdk.whole), ("streamed", sdk.streamed)]:
        check_across(api, name, ask, late=mode == "council" and name == "streamed")
        if mode == "same":
            sdk.check_mode(api, name, ask)
    if mode == "same":
        sdk.check_errors(url, api)
    hello = [{"role": "user", "content": "Hello"}]
    raises("a wrong key", anthropic.AuthenticationError, sdk.whole, sdk.client(url, "wrong"), messages=hello)
    raises("no messages", anthropic.BadRequestError, api.post, "/v1/messages",
           body={"model": sdk.MODEL, "max_tokens": 9}, cast_to=object)
    raises("no such path", anthropic.NotFoundError, api.post, "/v1/messages/nowhere", body={}, cast_to=object)
    print("ok")


if __name__ == "__main__":
    main()
