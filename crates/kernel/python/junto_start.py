"""What a kernel begins with."""

import os

_begun = False


def begin():
    """Plain output, no history, tools as modules, and leave for programs. Prints nothing and changes no directory."""
    global _begun
    if _begun:
        return
    _begun = True
    for name, value in SETTINGS.items():
        os.environ[name] = value
    import junto_code

    junto_code.install()
    import junto_leave

    shell = _shell()
    if shell is not None:
        shell.colors = "nocolor"
        shell.history_manager.enabled = False
        shell.events.register("pre_execute", junto_code.forget_changed)
    junto_leave.install(shell)


SETTINGS = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    # Nobody turns pages here.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    # Pictures come as output. pyplot reads this when, and if, it is imported.
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


def _shell():
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()
