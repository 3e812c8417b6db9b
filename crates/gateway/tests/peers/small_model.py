"""The vendors' own SDKs ask a real model, through the gateway, whichever wire that model's server speaks.

The model is too small to make sense, so what is looked at is the shape of its answers: some words, in pieces that
add up, no more of them than were asked for, and counted.
"""

import sys

import anthropic
import openai
from google import genai
from google.genai import types

from sdk_checks import KEY, equal, true

MODEL = "whatever-the-gateway-makes-of-it"
PROMPT = "Name three colours."
LIMIT = int(sys.argv[2])


def messages(url: str) -> None:
    api = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    request = {"model": MODEL, "max_tokens": LIMIT, "messages": [{"role": "user", "content": PROMPT}]}
    whole = api.messages.create(**request)
    with api.messages.stream(**request) as stream:
        pieces = list(stream.text_stream)
        streamed = stream.get_final_message()
    for name, answer in [("whole", whole), ("streamed", streamed)]:
        read = answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
        check(f"messages, {name}", answer.content[0].text, read, answer.usage.output_tokens)
        equal(f"messages, {name}: model", answer.model, MODEL)
    check_pieces("messages", pieces, streamed.content[0].text)


def responses(url: str) -> None:
    api = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    request = {"model": MODEL, "input": PROMPT, "max_output_tokens": LIMIT, "store": False}
    whole = api.responses.create(**request)
    events = list(api.responses.create(**request, stream=True))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    # A model that runs into the limit ends with `incomplete`.
    true("responses: it ends", events[-1].type in ("response.completed", "response.incomplete"), events[-1])
    streamed = events[-1].response
    for name, answer in [("whole", whole), ("streamed", streamed)]:
        check(f"responses, {name}", answer.output_text, answer.usage.input_tokens, answer.usage.output_tokens)
        equal(f"responses, {name}: model", answer.model, MODEL)
    check_pieces("responses", pieces, streamed.output_text)


def chat(url: str) -> None:
    api = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    request = {"model": MODEL, "max_tokens": LIMIT, "messages": [{"role": "user", "content": PROMPT}]}
    whole = api.chat.completions.create(**request)
    chunks = list(api.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    for name, text, answer in [
        ("whole", whole.choices[0].message.content, whole), ("streamed", "".join(pieces), chunks[-1]),
    ]:
        check(f"chat, {name}", text, answer.usage.prompt_tokens, answer.usage.completion_tokens)
        equal(f"chat, {name}: model", answer.model, MODEL)
    check_pieces("chat", pieces, "".join(pieces))


def generate(url: str) -> None:
    api = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))
    request = {"model": MODEL, "contents": PROMPT, "config": {"max_output_tokens": LIMIT}}
    whole = api.models.generate_content(**request)
    answers = list(api.models.generate_content_stream(**request))
    pieces = [answer.text for answer in answers if answer.text]
    for name, text, answer in [("whole", whole.text, whole), ("streamed", "".join(pieces), answers[-1])]:
        usage = answer.usage_metadata
        check(f"generate, {name}", text, usage.prompt_token_count, usage.candidates_token_count)
        equal(f"generate, {name}: model", answer.model_version, MODEL)
    check_pieces("generate", pieces, "".join(pieces))


def check(name: str, text: str, read: int, written: int) -> None:
    true(f"{name}: it says something", text.strip(), text)
    true(f"{name}: it is counted", read > 5 and 0 < written <= LIMIT, (read, written))


def check_pieces(name: str, pieces: list, text: str) -> None:
    true(f"{name}: it comes in pieces", len(pieces) > 3, pieces)
    equal(f"{name}: the pieces add up", "".join(pieces), text)


def main() -> None:
    for ask in [messages, responses, chat, generate]:
        ask(sys.argv[1])
    print("ok")


if __name__ == "__main__":
    main()
