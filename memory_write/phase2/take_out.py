"""Publishes an edition by code alone, without what the inputs that went had supported.

Invariant: no model and no quota is asked, so that forgetting depends on nobody; what was not worked
in yet and what a person wrote stays in the folder as a difference to the commit.
"""

from dataclasses import dataclass

from memory_write.phase2.blocking import in_thread
from memory_write.phase2.gather import Gathered
from memory_write.phase2.publish import EditedMeanwhile, InputsWithdrawn, Offer, publish
from memory_write.phase2.withdraw import Gone, Withdrawal, still_standing, withdraw
from memory_write.ports import Steps
from memory_write.recipes import Recipe
from state.recovery import State
from state.stores.editions import EditionInputs
from state.stores.jobs import Claim
from state.workspace.snapshot import write_snapshot
from state.workspace.staging import Staging


@dataclass(frozen=True, slots=True)
class TakenOut:
    """The edition without what went is in force."""

    edition_id: int
    lines: int


async def take_out(
    state: State,
    claim: Claim,
    staging: Staging,
    gathered: Gathered,
    gone: Gone,
    recipe: Recipe,
    steps: Steps,
) -> TakenOut | EditedMeanwhile | InputsWithdrawn:
    """Make the edition and put it in force.

    Raises: LeaseLost, DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
    """
    withdrawal = await in_thread(_staged, staging, gathered, gone, recipe)
    offer = Offer(
        staging=staging,
        before=gathered.published,
        written=withdrawal.live,
        committed=withdrawal.committed,
        made_by="code",
        inputs=EditionInputs(
            removed=tuple(sorted(gathered.gone.threads.thread_ids)) if gathered.gone else ()
        ),
        selected=still_standing(withdrawal.live, gathered.selection),
        watermark_ms=0,
    )
    result = await publish(state, claim, offer, steps)
    if isinstance(result, EditedMeanwhile | InputsWithdrawn):
        return result
    return TakenOut(result.edition_id, withdrawal.lines)


def _staged(staging: Staging, gathered: Gathered, gone: Gone, recipe: Recipe) -> Withdrawal:
    withdrawal = withdraw(gathered.published, gathered.baseline, gathered.selection, gone, recipe)
    staging.discard()
    write_snapshot(withdrawal.live, staging.staged)
    return withdrawal
