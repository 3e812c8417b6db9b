"""The same conversations twice, by the vendor's own SDK: straight from the twin, and through the gateway.

    differential.py SURFACE same|across TWIN_URL GATEWAY_URL

What a user of the SDK sees must be the same, whatever wire the answer came from. Where the gateway passes
everything through, also what is counted.
"""

import functools
import json
import sys

import anthropic
import openai
from google.genai import errors as gemini_errors
from google.genai import types

import sdk_anthropic
import sdk_gemini
import sdk_openai
from sdk_checks import equal

LOOPS = ("What is the weather?", "A chain, please")
LIMIT = "Over the limit"


class Anthropic:
    asks = (sdk_anthropic.whole, sdk_anthropic.streamed)
    failure = anthropic.APIStatusError

    def __init__(self, url: str) -> None:
        self.api = sdk_anthropic.client(url)

    def hello(self, ask, prompt: str):
        return ask(self.api, messages=[{"role": "user", "content": prompt}])

    def loop(self, ask, prompt: str) -> list:
        return sdk_anthropic.tool_loop(self.api, ask, prompt)[0]

    def seen(self, answer) -> list:
        said = []
        for block in answer.content:
            match block.type:
                case "thinking" if block.thinking:
                    said.append(("thinking", block.thinking))
                case "text":
                    said.append(("text", block.text))
                case "tool_use":
                    said.append(("call", block.name, block.input))
        return [said, answer.role, answer.model, answer.stop_reason, answer.stop_sequence]

    def counted(self, answer) -> dict:
        return answer.usage.model_dump()

    def failed(self, error) -> list:
        return [type(error).__name__, error.status_code, error.response.headers.get("retry-after")]


class Responses:
    wire = sdk_openai.Responses()
    asks = (wire.whole, wire.streamed)
    failure = openai.APIStatusError

    def __init__(self, url: str) -> None:
        self.api = sdk_openai.client(url)

    def hello(self, ask, prompt: str):
        return ask(self.api, sdk_openai.user(prompt))

    def loop(self, ask, prompt: str) -> list:
        return sdk_openai.tool_loop(self.wire, ask, self.api, prompt)[0]

    def seen(self, answer) -> list:
        said = []
        for item in answer.output:
            match item.type:
                case "reasoning" if item.summary:
                    said.append(("reasoning", [part.text for part in item.summary]))
                case "message":
                    said.append(("message", item.role, item.status, [part.text for part in item.content]))
                case "function_call":
                    said.append(("call", item.name, item.status, json.loads(item.arguments)))
        return [said, answer.model, answer.status, answer.incomplete_details, answer.error]

    def counted(self, answer) -> dict:
        return answer.usage.model_dump()

    failed = Anthropic.failed


class Chat(Responses):
    wire = sdk_openai.Chat()
    asks = (wire.whole, wire.streamed)

    def seen(self, answer) -> list:
        choice = answer.choices[0]
        calls = [(c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls or []]
        return [choice.message.role, choice.message.content or "", calls, choice.finish_reason, answer.model]


# How hard to think is said, since models differ in what they do when it is not.
THINKING = types.ThinkingConfig(include_thoughts=True, thinking_level="HIGH")
CONFIG = sdk_gemini.CONFIG.model_copy(update={"thinking_config": THINKING})


class Gemini:
    asks = tuple(functools.partial(ask, config=CONFIG) for ask in (sdk_gemini.whole, sdk_gemini.streamed))
    failure = gemini_errors.APIError

    def __init__(self, url: str) -> None:
        self.api = sdk_gemini.client(url)

    def hello(self, ask, prompt: str):
        return ask(self.api, sdk_gemini.user(prompt))

    def loop(self, ask, prompt: str) -> list:
        return [(parts, None) for parts in sdk_gemini.tool_loop(self.api, ask, prompt)[0]]

    def seen(self, answer) -> list:
        parts, last = answer
        thoughts = "".join(part.text or "" for part in parts if part.thought)
        calls = [(call.name, call.args) for call in sdk_gemini.calls_of(parts)]
        end = last and [last.candidates[0].finish_reason, last.model_version]
        return [thoughts, sdk_gemini.text_of(parts), calls, end]

    def counted(self, answer) -> dict | None:
        return answer[1] and answer[1].usage_metadata.model_dump()

    def failed(self, error) -> list:
        return [type(error).__name__, error.code, error.status]


SURFACES = {"anthropic": Anthropic, "openai": Responses, "chat": Chat, "gemini": Gemini}


def conversations(side, counts: bool) -> list:
    """Everything a user of the SDK sees of all the conversations, whole and streamed."""
    seen = []
    for ask in side.asks:
        answers = [answer for prompt in LOOPS for answer in side.loop(ask, prompt)]
        seen += [[side.seen(answer), side.counted(answer) if counts else None] for answer in answers]
        hello = side.seen(side.hello(ask, "Hello"))
        # Whether a model shows thoughts that nobody asked for is its own affair.
        seen.append([hello[1:] if isinstance(side, Gemini) else without_thoughts(hello)])
        try:
            side.hello(ask, LIMIT)
            sys.exit("failed: there is no limit")
        except side.failure as error:
            seen.append(side.failed(error))
    return seen


def without_thoughts(seen: list) -> list:
    first, *rest = seen
    thoughts = ("thinking", "reasoning")
    return [[part for part in first if part[0] not in thoughts] if isinstance(first, list) else first, *rest]


def main(surface: str, mode: str, twin: str, gateway: str) -> None:
    sides = [conversations(SURFACES[surface](url), mode == "same") for url in (twin, gateway)]
    equal(f"{surface}: as many answers", len(sides[1]), len(sides[0]))
    for n, (straight, through) in enumerate(zip(*sides)):
        equal(f"{surface} {mode}: answer {n}", through, straight)
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
