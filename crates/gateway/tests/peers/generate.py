"""Google's own SDK in front of the gateway: on a provider of its own wire, or across wires."""

import sys

from google.genai import errors, types

import sdk_gemini as sdk
from sdk_checks import ADA, CHAIN_ANSWER, HELLO, WEATHER_ANSWER, Person, equal, raises, true


def check_across(url: str, api, name: str, ask) -> None:
    """What holds whatever wire the answer came from."""
    parts, last = ask(api, sdk.user("Hello"))
    equal(f"{name}: text", sdk.text_of(parts), HELLO)
    equal(f"{name}: the model is the one asked for", last.model_version, sdk.MODEL)
    equal(f"{name}: finish reason", last.candidates[0].finish_reason, types.FinishReason.STOP)
    usage = last.usage_metadata
    true(f"{name}: usage", usage.prompt_token_count > 0 and usage.candidates_token_count > 0, usage)

    answers, _ = sdk.tool_loop(api, ask, "What is the weather?")
    calls = [call.args for call in sdk.calls_of(answers[0])]
    equal(f"{name}: two calls side by side", calls, [{"city": "Paris"}, {"city": "Oslo"}])
    equal(f"{name}: the answer to both results", sdk.text_of(answers[-1]), WEATHER_ANSWER)

    answers, _ = sdk.tool_loop(api, ask, "A chain, please")
    equal(f"{name}: three rounds and an answer", len(answers), 4)
    equal(f"{name}: the answer after the chain", sdk.text_of(answers[-1]), CHAIN_ANSWER)

    error = raises(f"{name}: a rate limit", errors.ClientError, ask, api, sdk.user("Over the limit"))
    equal(f"{name}: its code", (error.code, error.status), (429, "RESOURCE_EXHAUSTED"))
    error = raises(f"{name}: a wrong key", errors.ClientError, ask, sdk.client(url, "wrong"), sdk.user("Hello"))
    true(f"{name}: it is about the key", error.code in (400, 401, 403), error)

    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Person)
    parts, _ = ask(api, sdk.user("A person, please"), config)
    equal(f"{name}: structured output", Person.model_validate_json(sdk.text_of(parts)), ADA)


def main() -> None:
    url, mode = sys.argv[1], sys.argv[2]
    api = sdk.client(url)
    for name, ask in [("whole", sdk.whole), ("streamed", sdk.streamed)]:
        check_across(url, api, name, ask)
        if mode == "same":
            sdk.check_mode(url, api, name, ask)
    sdk.check_automatic_calls(api)
    if mode == "same":
        sdk.check_lost_signature(api)
    nowhere = types.HttpOptions(api_version="v1nowhere")
    error = raises("no such path", errors.ClientError, sdk.whole, api, sdk.user("Hello"),
                   types.GenerateContentConfig(http_options=nowhere))
    equal("no such path: its code", (error.code, error.status), (404, "NOT_FOUND"))
    print("ok")


if __name__ == "__main__":
    main()
