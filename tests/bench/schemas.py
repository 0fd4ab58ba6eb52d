"""How much of what our server sends fits the schemas that the original exports; no time is taken.

One session uses every method that we claim, and each kind of question is asked once. Needs the
exported schemas in `shared/data` beside the tree.
"""

import asyncio
import tempfile
from pathlib import Path

from tests.bench.figures import Figures, options, report
from tests.support.conformance import checked_notifications, checked_requests, checked_results
from tests.support.every_method import whole_session
from tests.support.questions import SUBJECTS, asked
from tests.support.shared_data import SHARED


async def measure() -> Figures:
    """Counts of each kind; faults are printed."""
    with tempfile.TemporaryDirectory() as folder:
        session = await whole_session(Path(folder))
    questions = [await asked(subject) for subject in SUBJECTS]
    kinds = (
        checked_results(session),
        checked_notifications(session),
        checked_requests([*session.requests, *questions]),
    )
    figures: Figures = {}
    for found in kinds:
        for fault in found.faults:
            print(fault)
        figures |= {
            f"{found.kind}: methods claimed": len(found.claimed),
            f"{found.kind}: methods validated": len(found.validated),
            f"{found.kind}: messages checked": found.messages,
        }
    return figures


if __name__ == "__main__":
    options(__doc__)
    if SHARED is None:
        raise SystemExit("the exported schemas are not beside the tree (../shared/data)")
    report("schemas", {"ours": asyncio.run(measure())})
