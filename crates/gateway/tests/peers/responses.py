"""OpenAI's own SDK in front of the gateway: on a provider of its own wire, or across wires."""

import sys

import openai

import sdk_openai as sdk
from sdk_checks import ADA, CHAIN_ANSWER, HELLO, WEATHER_ANSWER, equal, raises, true


def check_across(api, wire, name: str, ask, late: bool) -> None:
    """What holds whatever wire the answer came from. Where an answer has begun, a failure comes late: in the stream."""
    hello = ask(api, sdk.user("Hello"))
    equal(f"{name}: text", wire.text(hello), HELLO)
    equal(f"{name}: the model is the one asked for", hello.model, sdk.MODEL)
    equal(f"{name}: status", hello.status, "completed")
    usage = hello.usage
    true(f"{name}: usage", 0 < usage.input_tokens < usage.total_tokens, usage)

    answers, _ = sdk.tool_loop(wire, ask, api, "What is the weather?")
    equal(f"{name}: two calls side by side", wire.calls(answers[0]), [{"city": "Paris"}, {"city": "Oslo"}])
    equal(f"{name}: the answer to both results", wire.text(answers[-1]), WEATHER_ANSWER)

    answers, _ = sdk.tool_loop(wire, ask, api, "A chain, please")
    equal(f"{name}: three rounds and an answer", len(answers), 4)
    equal(f"{name}: the answer after the chain", wire.text(answers[-1]), CHAIN_ANSWER)

    if late:
        error = raises(f"{name}: a rate limit", openai.APIError, ask, api, sdk.user("Over the limit"))
        true(f"{name}: the failure is told", "429" in str(error), error)
        return
    error = raises(f"{name}: a rate limit", openai.RateLimitError, ask, api, sdk.user("Over the limit"))
    equal(f"{name}: the time to wait", error.response.headers["retry-after"], "7")
    true(f"{name}: an id to ask about", error.request_id, error.response.headers)


def main() -> None:
    url, mode = sys.argv[1], sys.argv[2]
    api, wire = sdk.client(url), sdk.Responses()
    for name, ask in [("whole", wire.whole), ("streamed", wire.streamed)]:
        check_across(api, wire, name, ask, late=mode == "council" and name == "streamed")
    equal("structured output", wire.parse(api, "A person, please"), ADA)
    if mode == "same":
        sdk.check_wire(url, api, wire)
        sdk.check_lost_reasoning(api)
    raises("a wrong key", openai.AuthenticationError, wire.whole, sdk.client(url, "wrong"), sdk.user("Hello"))
    raises("no input", openai.BadRequestError, api.post, "/responses", body={"model": sdk.MODEL}, cast_to=object)
    raises("no such path", openai.NotFoundError, api.post, "/nowhere", body={}, cast_to=object)
    print("ok")


if __name__ == "__main__":
    main()
