"""Google's own SDK drives the twin."""

from google import genai
from google.genai import errors, types

from sdk_checks import (
    ADA, CHAIN_ANSWER, CITY_SCHEMA, HELLO, KEY, WEATHER, WEATHER_ANSWER, Person, address, equal, raises, true,
)

MODEL = "gemini-3-pro-preview"
WEATHER_TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="weather", description="The weather of a city", parameters_json_schema=CITY_SCHEMA
        )
    ]
)
CONFIG = types.GenerateContentConfig(
    tools=[WEATHER_TOOL],
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def client(url: str, key: str = KEY) -> genai.Client:
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url))


def user(prompt: str) -> list:
    return [types.Content(role="user", parts=[types.Part(text=prompt)])]


def whole(api, contents: list, config=CONFIG) -> tuple[list, object]:
    """The parts, and the last piece, which has the usage."""
    response = api.models.generate_content(model=MODEL, contents=contents, config=config)
    return response.candidates[0].content.parts, response


def streamed(api, contents: list, config=CONFIG) -> tuple[list, object]:
    parts, last = [], None
    for last in api.models.generate_content_stream(model=MODEL, contents=contents, config=config):
        content = last.candidates[0].content if last.candidates else None
        parts += (content.parts or []) if content else []
    return parts, last


def text_of(parts: list) -> str:
    return "".join(part.text for part in parts if part.text and not part.thought)


def calls_of(parts: list) -> list:
    return [part.function_call for part in parts if part.function_call]


def tool_loop(api, ask, prompt: str) -> tuple[list, list]:
    """All parts go back as they came, with their signatures."""
    contents, answers = user(prompt), []
    while True:
        parts, _ = ask(api, contents)
        answers.append(parts)
        contents.append(types.Content(role="model", parts=parts))
        calls = calls_of(parts)
        if not calls:
            return answers, contents
        results = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": WEATHER[call.args["city"]]}
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=results))


def check_mode(url: str, api, name: str, ask) -> None:
    parts, last = ask(api, user("Hello"))
    equal(f"{name}: text", text_of(parts), HELLO)
    equal(f"{name}: finish reason", last.candidates[0].finish_reason, types.FinishReason.STOP)
    usage = last.usage_metadata
    true(f"{name}: usage", usage.prompt_token_count > 0 and usage.candidates_token_count > 0, usage)
    true(f"{name}: thinking tokens", usage.thoughts_token_count > 0, usage)

    answers, _ = tool_loop(api, ask, "What is the weather?")
    calls = calls_of(answers[0])
    equal(f"{name}: two calls side by side", [c.args for c in calls], [{"city": "Paris"}, {"city": "Oslo"}])
    true(f"{name}: thoughts are shown", any(part.thought for part in answers[0]))
    first = next(part for part in answers[0] if part.function_call)
    true(f"{name}: the first call is signed", first.thought_signature)
    equal(f"{name}: the answer to both results", text_of(answers[-1]), WEATHER_ANSWER)

    answers, _ = tool_loop(api, ask, "A chain, please")
    equal(f"{name}: three rounds and an answer", len(answers), 4)
    equal(f"{name}: the answer after the chain", text_of(answers[-1]), CHAIN_ANSWER)

    wrong = client(url, "wrong-key")
    error = raises(f"{name}: a wrong key", errors.ClientError, ask, wrong, user("Hello"))
    true(f"{name}: it is about the key", "API key not valid" in str(error) or error.code in (401, 403), error)
    error = raises(f"{name}: a rate limit", errors.ClientError, ask, api, user("Over the limit"))
    equal(f"{name}: its code", (error.code, error.status), (429, "RESOURCE_EXHAUSTED"))

    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Person)
    parts, _ = ask(api, user("A person, please"), config)
    equal(f"{name}: structured output", Person.model_validate_json(text_of(parts)), ADA)


def check_automatic_calls(api) -> None:
    """The SDK runs the functions itself and sends the results back."""
    asked = []

    def weather(city: str) -> str:
        """The weather of a city"""
        asked.append(city)
        return WEATHER[city]

    config = types.GenerateContentConfig(tools=[weather])
    response = api.models.generate_content(model=MODEL, contents="What is the weather?", config=config)
    equal("automatic calls: both were made", asked, ["Paris", "Oslo"])
    equal("automatic calls: the answer", response.text, WEATHER_ANSWER)


def check_lost_signature(api) -> None:
    _, contents = tool_loop(api, whole, "What is the weather?")
    bare = [part.model_copy(update={"thought_signature": None}) for part in contents[1].parts]
    contents[1] = types.Content(role="model", parts=bare)
    error = raises("a call without its signature", errors.ClientError, whole, api, contents[:3])
    equal("it is a bad request", error.code, 400)


def main() -> None:
    url = address()
    api = client(url)
    check_mode(url, api, "whole", whole)
    check_mode(url, api, "streamed", streamed)
    check_automatic_calls(api)
    check_lost_signature(api)
    count = api.models.count_tokens(model=MODEL, contents="How many?")
    true("count_tokens", count.total_tokens > 0, count)
    true("the list of models", any("gemini" in model.name for model in api.models.list()))
    print("ok")


if __name__ == "__main__":
    main()
