"""Settings of the interpreter that keep the event loop from waiting while other threads work."""

import gc
import sys

GARBAGE_THRESHOLDS = (5_000, 2, 20)
"""Objects made between two looks; an older look takes what two young ones left, so that none walks
over more than some ten thousand objects. The interpreter's own would let the second kind walk over
ten times the first."""
SWITCH_S = 0.000_2
"""How long a thread that computes may keep a loop that woke up waiting; usually it is 5 ms. The
loop waits so long at each event, so that one round for many clients waits many times."""


def wake_loop_soon() -> None:
    """Once, before clients are served: what computes in a thread keeps none of them waiting."""
    sys.setswitchinterval(SWITCH_S)


def care_for_loop() -> None:
    """Once, when everything is loaded: what stands now is never looked at again."""
    wake_loop_soon()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
