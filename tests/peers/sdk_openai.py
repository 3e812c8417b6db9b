"""OpenAI's own SDK drives the twin on both of its wires: Responses and Chat Completions."""

import json

import openai

from sdk_checks import (
    ADA, CHAIN_ANSWER, CITY_SCHEMA, HELLO, KEY, WEATHER, WEATHER_ANSWER, Person, address, equal, raises, true,
)

MODEL = "gpt-5"
FUNCTION = {"name": "weather", "description": "The weather of a city", "parameters": CITY_SCHEMA}


def client(url: str, key: str = KEY) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


class Responses:
    """The conversation is a list of items, and all that the model gave goes back into it."""

    name = "responses"

    def request(self, items: list) -> dict:
        return {
            "model": MODEL,
            "input": items,
            "tools": [{"type": "function", "strict": True, **FUNCTION}],
            "reasoning": {"effort": "medium", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
        }

    def whole(self, api, items: list):
        return api.responses.create(**self.request(items))

    def streamed(self, api, items: list):
        with api.responses.stream(**self.request(items)) as stream:
            pieces = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            response = stream.get_final_response()
        equal("responses: the streamed text adds up", pieces, response.output_text)
        return response

    def text(self, answer) -> str:
        return answer.output_text

    def calls(self, answer) -> list:
        return [json.loads(item.arguments) for item in answer.output if item.type == "function_call"]

    def kinds(self, answer) -> list:
        return [item.type for item in answer.output]

    def extend(self, items: list, answer) -> None:
        items.extend(answer.output)
        for item in answer.output:
            if item.type == "function_call":
                result = WEATHER[json.loads(item.arguments)["city"]]
                items.append({"type": "function_call_output", "call_id": item.call_id, "output": result})

    def check_usage(self, name: str, answer) -> None:
        usage = answer.usage
        true(f"{name}: usage", 0 < usage.input_tokens and usage.total_tokens == usage.input_tokens + usage.output_tokens)
        true(f"{name}: reasoning tokens", usage.output_tokens_details.reasoning_tokens > 0, usage)

    expected_kinds = ["reasoning", "function_call", "function_call"]

    def parse(self, api, prompt: str) -> Person:
        return api.responses.parse(model=MODEL, input=prompt, text_format=Person).output_parsed


class Chat:
    """The conversation is a list of messages."""

    name = "chat"

    def request(self, messages: list) -> dict:
        return {"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": FUNCTION}]}

    def whole(self, api, messages: list):
        return api.chat.completions.create(**self.request(messages))

    def streamed(self, api, messages: list):
        usage = {"stream_options": {"include_usage": True}}
        with api.chat.completions.stream(**self.request(messages), **usage) as stream:
            pieces = "".join(event.delta for event in stream if event.type == "content.delta")
            completion = stream.get_final_completion()
        equal("chat: the streamed text adds up", pieces, self.text(completion))
        return completion

    def text(self, answer) -> str:
        return answer.choices[0].message.content or ""

    def calls(self, answer) -> list:
        return [json.loads(call.function.arguments) for call in answer.choices[0].message.tool_calls or []]

    def kinds(self, answer) -> list:
        return [call.type for call in answer.choices[0].message.tool_calls]

    def extend(self, messages: list, answer) -> None:
        message = answer.choices[0].message
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in message.tool_calls or []
        ]
        said = {"role": "assistant", "content": message.content}
        messages.append({**said, "tool_calls": calls} if calls else said)
        for call in calls:
            result = WEATHER[json.loads(call["function"]["arguments"])["city"]]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def check_usage(self, name: str, answer) -> None:
        usage = answer.usage
        true(f"{name}: usage", 0 < usage.prompt_tokens and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens)

    expected_kinds = ["function", "function"]

    def parse(self, api, prompt: str) -> Person:
        messages = [{"role": "user", "content": prompt}]
        completion = api.chat.completions.parse(model=MODEL, messages=messages, response_format=Person)
        return completion.choices[0].message.parsed


def user(prompt: str) -> list:
    return [{"role": "user", "content": prompt}]


def tool_loop(wire, ask, api, prompt: str) -> tuple[list, list]:
    conversation, answers = user(prompt), []
    while True:
        answers.append(ask(api, conversation))
        wire.extend(conversation, answers[-1])
        if not wire.calls(answers[-1]):
            return answers, conversation


def check_wire(url: str, api, wire) -> None:
    for mode, ask in [("whole", wire.whole), ("streamed", wire.streamed)]:
        name = f"{wire.name}, {mode}"
        hello = ask(api, user("Hello"))
        equal(f"{name}: text", wire.text(hello), HELLO)
        wire.check_usage(name, hello)
        answers, _ = tool_loop(wire, ask, api, "What is the weather?")
        equal(f"{name}: two calls side by side", wire.kinds(answers[0]), wire.expected_kinds)
        equal(f"{name}: arguments", wire.calls(answers[0]), [{"city": "Paris"}, {"city": "Oslo"}])
        equal(f"{name}: the answer to both results", wire.text(answers[-1]), WEATHER_ANSWER)
        answers, _ = tool_loop(wire, ask, api, "A chain, please")
        equal(f"{name}: three rounds and an answer", len(answers), 4)
        equal(f"{name}: the answer after the chain", wire.text(answers[-1]), CHAIN_ANSWER)
        raises(f"{name}: a wrong key", openai.AuthenticationError, ask, client(url, "wrong-key"), user("Hello"))
        error = raises(f"{name}: a rate limit", openai.RateLimitError, ask, api, user("Over the limit"))
        equal(f"{name}: the time to wait", error.response.headers["retry-after"], "7")
    equal(f"{wire.name}: structured output", wire.parse(api, "A person, please"), ADA)


def check_lost_reasoning(api) -> None:
    wire = Responses()
    _, items = tool_loop(wire, wire.whole, api, "What is the weather?")
    first_call = next(i for i, item in enumerate(items) if getattr(item, "type", "") == "function_call")
    lost = [item for item in items[: first_call + 4] if getattr(item, "type", "") != "reasoning"]
    raises("a call without the reasoning that led to it", openai.BadRequestError, wire.whole, api, lost)


def main() -> None:
    url = address()
    api = client(url)
    check_wire(url, api, Responses())
    check_wire(url, api, Chat())
    check_lost_reasoning(api)
    true("the list of models", any(model.id.startswith("gpt") for model in api.models.list()))
    print("ok")


if __name__ == "__main__":
    main()
