"""Runs cells in a plain IPython, without a kernel, and tells what each said.

Reads a list of cells as JSON from the file named first, and writes what they said to the file named second.
"""

import io
import json
import os
import sys
import tempfile

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


def main(cells, answers):
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    errors = []
    shell.showtraceback = lambda *args, **kwargs: errors.append(sys.exc_info()[:2])
    shell.showsyntaxerror = lambda *args, **kwargs: errors.append(sys.exc_info()[:2])
    shell.displayhook.write_output_prompt = lambda: None
    shell.displayhook.write_format_data = lambda *args: None
    shell.displayhook.finish_displayhook = lambda: None
    sys.stdout = io.TextIOWrapper(open(1, "wb", 0, closefd=False), encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(
        open(2, "wb", 0, closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    said = []
    for code in json.load(open(cells)):
        files = [tempfile.TemporaryFile() for _ in (1, 2)]
        for number, file in zip((1, 2), files):
            os.dup2(file.fileno(), number)
        errors.clear()
        value = shell.run_cell(code, store_history=True).result
        texts = []
        for file in files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        result = None
        if not errors and value is not None:
            result = shell.display_formatter.format(value)[0]["text/plain"]
        error = [errors[0][0].__name__, str(errors[0][1])] if errors else None
        said.append({"stdout": texts[0], "stderr": texts[1], "result": result, "error": error})
    json.dump(said, open(answers, "w"))


main(*sys.argv[1:])
