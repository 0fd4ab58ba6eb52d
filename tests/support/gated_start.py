"""An `app-server` of its own that is made whole when a byte comes over the pipe it was told of.

Then, and once more at its end, it says on standard error which modules are loaded; at the end of
the pipe it fails.
"""

import os
import sys
from pathlib import Path
from typing import Any

from server.cli import serve
from server.cli.main import main
from state.errors import HomeUnusable
from tests.support.source import ROOT

LOADED = "loaded:"


def spawn_arguments(gate: int) -> list[str]:
    """The command line of such a process."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    code += f"from tests.support.gated_start import run; run({gate})"
    return [sys.executable, "-c", code]


def run(gate: int) -> None:
    """Serve until the end of input, then end the process."""
    load = serve._assembly

    def gated() -> Any:
        opened = os.read(gate, 1)
        _tell_modules()
        if not opened:
            raise HomeUnusable(Path("/nowhere"), "the gate stayed closed")
        return load()

    serve._assembly = gated
    status = main(["app-server"])
    _tell_modules()
    sys.exit(status)


def _tell_modules() -> None:
    print(LOADED, *sorted(sys.modules), file=sys.stderr, flush=True)
