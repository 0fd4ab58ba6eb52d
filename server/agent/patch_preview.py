"""Tells what a patch will change while the model still writes it.

Invariant: what is told of one patch grows by a share each time, so all of it together stays within
a few times its size; a patch over the bound is told no further. It comes before the item, under the
item's id, and nothing is begun: whether the patch is tried is known only when it is whole.
"""

from dataclasses import dataclass, field

from server.agent.active_turn import ActiveTurn
from server.agent.conversation import Conversation
from server.agent.events import PatchUpdated
from server.agent.tools.apply_patch import NAME
from server.agent.tools.patch_so_far import changes_so_far

TOLD_BYTES_MAX = 32_768
_GROWTH = 1.25


@dataclass(slots=True)
class _Patch:
    """A patch under way."""

    call_id: str
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    told_size: int = 0
    told_files: int = 0


class PatchPreviews:
    """Of one response of the model."""

    def __init__(self, conversation: Conversation, turn: ActiveTurn) -> None:
        self._conversation = conversation
        self._turn = turn
        self._patches: dict[str, _Patch] = {}

    def begin(self, item_id: str, call_id: str, name: str) -> None:
        """A call of a tool whose input is free text begins."""
        if name == NAME and call_id:
            self._patches[item_id] = _Patch(call_id)

    def feed(self, item_id: str, text: str) -> None:
        """The next piece of its input."""
        patch = self._patches.get(item_id)
        if patch is None:
            return
        patch.pieces.append(text)
        patch.size += len(text)
        if patch.size > TOLD_BYTES_MAX:
            del self._patches[item_id]
        elif "\n" in text and (patch.size >= patch.told_size * _GROWTH or "*** " in text):
            self._tell(patch)

    def _tell(self, patch: _Patch) -> None:
        changes = changes_so_far("".join(patch.pieces), self._conversation.settings.cwd)
        is_new = len(changes) > patch.told_files
        if not changes or (not is_new and patch.size < patch.told_size * _GROWTH):
            return
        patch.told_size, patch.told_files = patch.size, len(changes)
        self._conversation.tell(
            PatchUpdated(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                item_id=patch.call_id,
                changes=tuple(changes),
            )
        )
