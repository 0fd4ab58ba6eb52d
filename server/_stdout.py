"""Standard output for messages alone, from the first moment on; imports nothing of ours.

Whatever is loaded behind it may print: libraries, children, the interpreter itself.
"""

import os
import sys

_STDOUT, _STDERR = 1, 2


def reserve_stdout() -> int:
    """Keep standard output for messages; returns its new descriptor, prints land on stderr."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.set_inheritable(kept, False)
    os.dup2(_STDERR, _STDOUT, inheritable=True)
    return kept
