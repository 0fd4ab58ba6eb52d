"""What a tool of this process may not write or see by itself: the same answers as for a command."""

import os
from collections.abc import Sequence
from pathlib import PurePosixPath as Path
from typing import assert_never

from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import (
    External,
    FullAccess,
    Places,
    Policy,
    PolicyRefused,
    Reach,
    Unconfined,
    hidden_in,
    hidden_places,
    reach_of,
    writable_by,
)
from server.agent.sandbox.roots import Moved, Roots
from server.agent.sandbox.survey import survey

NO_PLACES = Places(home=Path("/nonexistent/memoryd"), user_home=Path("/nonexistent"))
"""Of a thread whose server has no home to keep."""


def kept_of(
    paths: Sequence[str], policy: Policy, cwd: str, places: Places, roots: Roots
) -> tuple[str, ...]:
    """Of these real paths those that the policy of a thread in that folder does not open.

    Where one of its folders leads elsewhere now than before, those are all of them.
    Blocking: repositories inside writable folders are looked for, as before each command.
    """
    grounded = roots.grounded(policy, cwd)
    if isinstance(grounded, Moved):
        return tuple(paths)
    reach = reach_of(grounded[0], Path(grounded[1]), places)
    match reach:
        case Unconfined():
            return ()
        case PolicyRefused():
            return tuple(paths)
        case Reach():
            ground = survey(reach, SurveyLimits())
            kept = [f"{one}/" for one in ground.protected]
            return tuple(
                path
                for path in paths
                if not writable_by(reach, Path(path))
                or any(f"{path}/".startswith(one) for one in kept)
            )
        case _:
            assert_never(reach)


def is_hidden(path: str, policy: Policy, cwd: str, places: Places) -> bool:
    """Whether a command of that thread could not see this real path."""
    if isinstance(policy, FullAccess | External):
        return False
    shown = reach_of(policy, Path(os.path.realpath(cwd)), places)
    shown_in = shown.shown if isinstance(shown, Reach) else ()
    return hidden_in(Path(path), hidden_places(places), shown_in)
