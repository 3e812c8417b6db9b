"""Checks transcripts of the gateway against the types that the vendors publish in their own SDKs, and plays
them to the SDKs themselves.

    transcripts.py DIR              every SCENE.WIRE.sse and SCENE.WIRE.json in it
    transcripts.py --self-test DIR  that transcripts which are wrong are refused

A stream must be made of events of the vendor's types, in an order that the SDK can put together, and what
comes of it must be what the same scene gives as a whole answer.
"""

import http.server
import json
import pathlib
import re
import sys
import threading
import typing

import anthropic
import openai
from anthropic.types import Message, RawMessageStreamEvent
from google import genai
from google.genai import types as gemini
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from strict_types import Mistakes, check

# What servers of this wire send beside the vendor's own fields, and clients of theirs look for.
CHAT_EXTRAS = ("reasoning_content",)
CALL_EXTRAS = ("extra_content",)
# What the API itself sends and the SDK's type does not name.
ANSWER_EXTRAS = ("store",)
CUSTOM_CALL = "custom_tool_call"
FAILS = re.compile("failed")
# Scenes of which a stream tells more than the whole: progress; and an item's own id, which a stream has to
# tell before it knows it, so that it is sealed there.
UNLIKE = ("council", "slow", "own-item")


class Frame(typing.NamedTuple):
    event: str | None
    data: str


def frames(text: str) -> list[Frame]:
    """The frames of a stream; comments and empty ones mean nothing."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.strip("\n").split("\n") if line and line[0] != ":")
        if "data" in fields:
            found.append(Frame(fields.get("event"), fields["data"]))
    return found


def mistakes_in_stream(wire: str, text: str) -> Mistakes:
    found = frames(text)
    if wire == "chat":
        return mistakes_in_chat(found)
    if wire == "gemini":
        return [m for n, frame in enumerate(found) for m in gemini_chunk(json.loads(frame.data), f"[{n}]")]
    events = [json.loads(frame.data) for frame in found]
    mistakes = [
        f"[{n}] is the event {frame.event}, but says {event.get('type')}"
        for n, (frame, event) in enumerate(zip(found, events))
        if frame.event != event.get("type")
    ]
    known, order = (RawMessageStreamEvent, anthropic_order) if wire == "anthropic" else (ResponseStreamEvent, openai_order)
    for n, event in enumerate(events):
        mistakes += failure_or(event, known, f"[{n}]")
    return mistakes + order(events)


def failure_or(event: dict, known: object, path: str) -> Mistakes:
    """Events that the SDKs know without a type: signs of life, and failures."""
    match event.get("type"):
        case "ping":
            return check(event, typing.TypedDict("Ping", {"type": str}), path)
        case "error" if known is RawMessageStreamEvent:
            error = typing.TypedDict("Error", {"type": str, "message": str})
            return check(event, typing.TypedDict("ErrorEvent", {"type": str, "error": error}), path)
        case "error":
            # The SDK of this vendor raises what stands in `error`, which the type does not name.
            event = {name: value for name, value in event.items() if name != "error"}
    return check(known_fields(event), known, path)


def known_fields(value: object) -> object:
    """An answer, or an event with one, without the fields that the API sends and the SDK has no name for."""
    if isinstance(value, list):
        return [known_fields(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    extras = ANSWER_EXTRAS if value.get("object") == "response" else ()
    extras = ("status",) if value.get("type") == CUSTOM_CALL else extras
    return {name: known_fields(inner) for name, inner in value.items() if name not in extras}


def anthropic_order(events: list[dict]) -> Mistakes:
    """Blocks come one after the other, between one start and one stop."""
    mistakes, open_block, next_block = [], None, 0
    kinds = [event["type"] for event in events if event["type"] != "ping"]
    if kinds[0] != "message_start" or kinds.count("message_start") != 1:
        mistakes.append("there is not one start, at the start")
    if kinds[-1] not in ("message_stop", "error"):
        mistakes.append("there is no end")
    for n, event in enumerate(events):
        match event["type"]:
            case "content_block_start":
                if open_block is not None or event["index"] != next_block:
                    mistakes.append(f"[{n}] starts block {event['index']} while {open_block} is open")
                open_block = next_block
                next_block += 1
            case "content_block_delta" | "content_block_stop":
                if event["index"] != open_block:
                    mistakes.append(f"[{n}] is of block {event['index']} while {open_block} is open")
                if event["type"] == "content_block_stop":
                    open_block = None
    return mistakes


def openai_order(events: list[dict]) -> Mistakes:
    """Numbers count up, ids never change, and the last event repeats what the others said."""
    mistakes = []
    if [event.get("sequence_number") for event in events] != list(range(len(events))):
        mistakes.append("the sequence numbers do not count up from 0")
    if events[0]["type"] != "response.created":
        mistakes.append("the first event is not response.created")
    answers = [event["response"] for event in events if "response" in event]
    for field in ("id", "created_at", "model"):
        if len({answer[field] for answer in answers}) != 1:
            mistakes.append(f"the {field} of the answer changes")
    done, ids, parts = {}, {}, {}
    for n, event in enumerate(events):
        index = event.get("output_index")
        if event["type"] in ("response.output_item.added", "response.output_item.done"):
            seen = event["item"]["id"]
        else:
            seen = event.get("item_id")
        if index is not None and ids.setdefault(index, seen) != seen:
            mistakes.append(f"[{n}] calls item {index} {seen}, not {ids[index]}")
        if event["type"] == "response.output_item.done":
            done[index] = event["item"]
        if event["type"].endswith("_part.added"):
            parts[index] = event["part"]["type"]
        if event["type"].endswith("_part.done") and parts.pop(index, None) != event["part"]["type"]:
            mistakes.append(f"[{n}] ends a part that has not begun")
    if parts and events[-1]["type"] != "error":
        mistakes.append(f"parts without an end: {parts}")
    if answers[-1]["status"] not in ("failed",):
        if answers[-1]["output"] != [done[index] for index in sorted(done)]:
            mistakes.append("the last event does not repeat the items that are done")
        if not answers[-1]["usage"]:
            mistakes.append("the last event has no usage")
    return mistakes


def mistakes_in_chat(found: list[Frame]) -> Mistakes:
    failed = found and "error" in found[-1].data[:10]
    chunks = [json.loads(frame.data) for frame in found[: -1]]
    mistakes = [m for n, chunk in enumerate(chunks) for m in check(plain(chunk), ChatCompletionChunk, f"[{n}]")]
    if not failed and found[-1].data != "[DONE]":
        mistakes.append("there is no [DONE]")
    for field in ("id", "created", "model"):
        if len({chunk[field] for chunk in chunks}) > 1:
            mistakes.append(f"the {field} changes")
    if not failed and (chunks[-1].get("usage") is None or chunks[-1]["choices"]):
        mistakes.append("there is no usage at the end")
    return mistakes


def plain(answer: dict) -> dict:
    """A chunk or an answer of Chat Completions without what its vendor does not send."""
    answer = json.loads(json.dumps(answer))
    for choice in answer["choices"]:
        said = choice.get("delta") or choice.get("message") or {}
        for name in CHAT_EXTRAS:
            said.pop(name, None)
        # The SDK types streamed calls as functions only, though the API streams custom ones too.
        calls = said.get("tool_calls") or []
        said.update({"tool_calls": [without(call, CALL_EXTRAS) for call in calls]} if calls else {})
        if "delta" in choice and any("custom" in call for call in calls):
            said.pop("tool_calls")
    return answer


def gemini_chunk(chunk: dict, path: str) -> Mistakes:
    if "error" in chunk:
        error = typing.TypedDict("Error", {"code": int, "message": str, "status": str})
        return check(chunk["error"], error, path)
    return check(chunk, gemini.GenerateContentResponse, path)


def mistakes_in_whole(wire: str, answer: dict) -> Mistakes:
    match wire:
        case "anthropic":
            return check(answer, Message)
        case "openai":
            return check(known_fields(answer), Response)
        case "chat":
            return check(plain(answer), ChatCompletion)
        case "gemini":
            return check(answer, gemini.GenerateContentResponse)
    return [f"no such wire: {wire}"]


# ---- the SDKs ----------------------------------------------------------------------------------


class Transcripts(http.server.BaseHTTPRequestHandler):
    """Answers `/SCENE/…` with the transcript of that scene."""

    folder: pathlib.Path
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        stream = body.get("stream") is True or "streamGenerateContent" in self.path
        scene = self.path.split("/")[1]
        kind = "text/event-stream" if stream else "application/json"
        answer = (self.folder / f"{scene}.{'sse' if stream else 'json'}").read_bytes()
        failed = not stream and b'"error": {' in answer
        self.send_response(529 if failed else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


ASK = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]


def read_anthropic(url: str) -> tuple[object, object]:
    api = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
    ask = {"model": "m", "max_tokens": 9, "messages": ASK}
    with api.messages.stream(**ask) as stream:
        streamed = stream.get_final_message()
    whole = api.messages.create(**ask)
    shown = lambda message: message.model_dump(exclude={"content": {"__all__": {"parsed_output"}}})
    return shown(streamed), shown(whole)


def read_openai(url: str) -> tuple[object, object]:
    api = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
    with api.responses.stream(model="m", input="hi") as stream:
        events = list(stream)
    # The helper knows no other end than this one.
    streamed = next(e.response for e in reversed(events) if e.type in ("response.completed", "response.incomplete"))
    whole = api.responses.create(model="m", input="hi")
    # What only the helper of the SDK adds.
    shown = lambda answer: without(answer.model_dump(), ("parsed", "parsed_arguments"))
    return shown(streamed), shown(whole)


def read_chat(url: str) -> tuple[object, object]:
    api = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
    text, thoughts, calls, last = "", "", {}, None
    for chunk in api.chat.completions.create(model="m", messages=ASK, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thoughts += getattr(choice.delta, "reasoning_content", None) or ""
            last = choice.finish_reason or last
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, {})
                for name, value in call.model_dump(exclude_none=True, exclude={"index"}).items():
                    merge(known, name, value)
    whole = api.chat.completions.create(model="m", messages=ASK).choices[0]
    said = whole.message
    return (
        (text, thoughts, list(calls.values()), last),
        (
            said.content or "",
            getattr(said, "reasoning_content", None) or "",
            [call.model_dump(exclude_none=True) for call in said.tool_calls or []],
            whole.finish_reason,
        ),
    )


def merge(known: dict, name: str, value: object) -> None:
    """Adds what a piece of a call says to what is known of it."""
    if isinstance(value, dict):
        for inner, more in value.items():
            merge(known.setdefault(name, {}), inner, more)
    else:
        known[name] = known.get(name, "") + value if name in ("arguments", "input") else value


def read_gemini(url: str) -> tuple[object, object]:
    api = genai.Client(api_key="k", http_options=gemini.HttpOptions(base_url=url))
    ask = {"model": "m", "contents": "hi"}
    parts, last = [], None
    for chunk in api.models.generate_content_stream(**ask):
        if not chunk.candidates and chunk.model_extra and "error" in chunk.model_extra:
            raise ValueError(chunk.model_extra["error"])
        parts += chunk.candidates[0].content.parts or []
        last = chunk
    if last is None or last.candidates[0].finish_reason is None:
        raise ValueError("the stream did not come to an end")
    whole = api.models.generate_content(**ask)
    return seen(parts, last), seen(whole.candidates[0].content.parts, whole)


def seen(parts: list, last) -> tuple:
    """What a user of this SDK sees: the texts as a whole, and the calls with what is signed on them."""
    text = "".join(part.text or "" for part in parts if not part.thought)
    thoughts = "".join(part.text or "" for part in parts if part.thought)
    calls = [(p.function_call.model_dump(), p.thought_signature) for p in parts if p.function_call]
    usage = last.usage_metadata.model_dump(exclude_none=True)
    return text, thoughts, calls, last.candidates[0].finish_reason, last.response_id, usage


READERS = {"anthropic": read_anthropic, "openai": read_openai, "chat": read_chat, "gemini": read_gemini}
FAILURES = (anthropic.APIError, openai.APIError, genai.errors.APIError, ValueError)


def without(value: object, names: tuple[str, ...]) -> object:
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


def read_by_sdk(wire: str, scene: str, url: str) -> Mistakes:
    try:
        streamed, whole = READERS[wire](f"{url}/{scene}.{wire}")
    except FAILURES as error:
        return [] if FAILS.search(scene) else [f"the SDK fails: {type(error).__name__} {error}"]
    if FAILS.search(scene):
        return ["the SDK sees no failure"]
    if scene not in UNLIKE and not alike(streamed, whole):
        return [f"the SDK sees\n    {streamed}\n  in the stream, but as a whole\n    {whole}"]
    return []


def alike(streamed: object, whole: object) -> bool:
    """The same, but for how long the seal of the one is: text that stands beside it is in it or not."""
    shown = lambda value: json.dumps(value, sort_keys=True, default=repr)
    sealed = lambda value: re.sub(r"anVudG86[A-Za-z0-9+/=_-]*", "SEALED", shown(value))
    return sealed(streamed) == sealed(whole)


# ---- all of it ---------------------------------------------------------------------------------


def mistakes_in(folder: pathlib.Path, url: str) -> list[str]:
    mistakes = []
    for file in sorted(folder.glob("*.*.*")):
        scene, wire, kind = file.name.split(".")
        text = file.read_text()
        if kind == "sse":
            found = mistakes_in_stream(wire, text) + read_by_sdk(wire, scene, url)
        elif FAILS.search(scene):
            found = [] if "error" in json.loads(text) else ["the failure is no error"]
        else:
            found = mistakes_in_whole(wire, json.loads(text))
        mistakes += [f"{file.name}: {mistake}" for mistake in found]
    return mistakes


def serve(folder: pathlib.Path) -> str:
    handler = type("Handler", (Transcripts,), {"folder": folder})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def self_test(folder: pathlib.Path) -> None:
    cases = [
        ("tools.anthropic", '"type":"text_delta"', '"type":"text"', "delta"),
        ("tools.anthropic", '"index":1', '"index":2', "while"),
        ("tools.openai", '"sequence_number":3', '"sequence_number":4', "count up"),
        ("tools.openai", "event: response.content_part.done", "event: response.content_part", "event"),
        ("tools.openai", '"annotations":[],', "", "annotations"),
        ("tools.chat", '"finish_reason":"tool_calls"', '"finish_reason":"tools"', "finish_reason"),
        ("tools.gemini", '"finishReason"', '"finish"', "not a field"),
    ]
    for name, good, bad, expected in cases:
        text = (folder / f"{name}.sse").read_text()
        wire = name.split(".")[1]
        changed = text.replace(good, bad)
        found = mistakes_in_stream(wire, changed)
        if changed == text or mistakes_in_stream(wire, text) or not any(expected in m for m in found):
            sys.exit(f"{name} with {bad}: expected {expected!r}, found {found}")
        print(f"{name}: {found[0]}")
    print("ok")


def main(folder: pathlib.Path) -> None:
    files = len(list(folder.glob("*.*.*")))
    mistakes = mistakes_in(folder, serve(folder))
    if mistakes or files < 80:
        sys.exit("\n".join([*mistakes, f"{len(mistakes)} mistakes in {files} files"]))
    print(f"{files} transcripts are as the vendors' types say\nok")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--self-test", folder]:
            self_test(pathlib.Path(folder))
        case [folder]:
            main(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)
