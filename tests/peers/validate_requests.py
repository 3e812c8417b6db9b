"""Validates recorded requests against the types that the vendors publish in their own SDKs.

    validate_requests.py DIR          every NNNN-request.json in a twin's recording folder
    validate_requests.py --self-test  that good bodies pass and bad ones do not

So a misunderstanding that our client and our twins share is still seen.
"""

import json
import pathlib
import re
import sys
import typing

from anthropic import types as anthropic
from anthropic.types import beta as anthropic_beta
from anthropic.types import message_create_params as anthropic_create
from anthropic.types.beta import message_create_params as anthropic_beta_create
from google.genai import types as gemini
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses

from strict_types import Mistakes, check

# The SDK builds this body from its arguments, so it has the types of the parts and none of the whole.
GeminiBody = typing.TypedDict(
    "GeminiBody",
    {
        "contents": typing.Required[list[gemini.Content]],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "generationConfig": gemini.GenerationConfig,
        "safetySettings": list[gemini.SafetySetting],
        "cachedContent": str,
    },
    total=False,
)
GeminiCount = typing.TypedDict("GeminiCount", {"contents": list[gemini.Content]}, total=False)


# The SDK's types are those of version 2026-10-21 of Anthropic's API, which took these away; a request that
# names the version before may have them.
OLDER_VERSION = "2023-06-01"
OlderSampling = typing.TypedDict(
    "OlderSampling", {"temperature": float, "top_p": float, "top_k": int}, total=False
)


def expected_type(request: dict) -> object | None:
    """The type of a request's body; None for a request without one."""
    wire, path, body = request["wire"], request["path"], request["body"]
    if request["method"] != "POST":
        return None
    stream = isinstance(body, dict) and body.get("stream") is True
    match wire:
        case "anthropic":
            beta = "anthropic-beta" in request["headers"]
            if "/count_tokens" in path:
                return (anthropic_beta if beta else anthropic).message_count_tokens_params.MessageCountTokensParams
            create = anthropic_beta_create if beta else anthropic_create
            return create.MessageCreateParamsStreaming if stream else create.MessageCreateParamsNonStreaming
        case "openai":
            return responses.ResponseCreateParamsStreaming if stream else responses.ResponseCreateParamsNonStreaming
        case "chat":
            return chat.CompletionCreateParamsStreaming if stream else chat.CompletionCreateParamsNonStreaming
        case "gemini":
            if re.search(r":(generateContent|streamGenerateContent\?.*alt=sse)", path):
                return GeminiBody
            if ":countTokens" in path:
                return GeminiCount
    raise ValueError(f"no type for {wire} {path}")


def mistakes_in(request: dict) -> Mistakes:
    try:
        expected = expected_type(request)
    except ValueError as error:
        return [str(error)]
    if expected is None:
        return []
    body, older = request["body"], {}
    if request["wire"] == "anthropic" and request["headers"].get("anthropic-version") == OLDER_VERSION:
        older = {name: value for name, value in body.items() if name in OlderSampling.__annotations__}
        body = {name: value for name, value in body.items() if name not in older}
    return check(body, expected) + check(older, OlderSampling)


def validate(folder: pathlib.Path) -> None:
    files = sorted(folder.rglob("*-request.json"))
    if not files:
        sys.exit(f"no recorded request in {folder}")
    bad = 0
    for file in files:
        for mistake in mistakes_in(json.loads(file.read_text())):
            bad += 1
            print(f"{file.name}: {mistake}")
    if bad:
        sys.exit(f"{bad} mistakes in {len(files)} requests")
    print(f"{len(files)} requests are as the vendors' types say")
    print("ok")


def self_test() -> None:
    cases = json.loads((pathlib.Path(__file__).parent / "validate_cases.json").read_text())
    for case in cases:
        for variant in [{"change": [], "mistake": None}, *case["bad"]]:
            request = json.loads(json.dumps(case["request"]))
            for *path, value in variant["change"]:
                put(request["body"], path, value)
            found, expected = mistakes_in(request), variant["mistake"]
            good = not found if expected is None else any(expected in mistake for mistake in found)
            if not good:
                sys.exit(f"{case['name']} with {variant['change']}: expected {expected!r}, found {found}")
        print(f"{case['name']}: the good body passes, {len(case['bad'])} bad ones do not")
    print("ok")


def put(target, path: list, value: object) -> None:
    """Sets what the path leads to; null removes it."""
    for key in path[:-1]:
        target = target[key]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--self-test"]:
            self_test()
        case [folder]:
            validate(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)
