"""Compares one recorded frame with ours, and learns which ids and cursors belong together."""

from typing import Any

from tests.support.recordings import Frame

TIMES = frozenset(
    {
        "createdAt",
        "updatedAt",
        "recencyAt",
        "startedAt",
        "completedAt",
        "durationMs",
        "startedAtMs",
        "completedAtMs",
        "emittedAtMs",
    }
)
IDS = frozenset({"id", "sessionId", "threadId", "turnId", "itemId", "rootTurnId"})
CURSORS = frozenset(
    {"nextCursor", "backwardsCursor", "turnsBackwardsCursor", "itemsBackwardsCursor"}
)
ONLY_KIND = frozenset(
    {
        "tokenUsage",
        "userAgent",
        "codexHome",
        "path",
        "filePath",
        "version",
        "config",
        "origins",
        "layers",
    }
)
IGNORED = frozenset({"readState", "readStates", "memoryd"})
_RETRY_TEXTS = ("stream disconnected before completion", "exceeded retry limit")


class Matcher:
    """Compares one frame with ours and learns which ids belong together."""

    def __init__(
        self, ids: dict[str, str], cursors: dict[str, str], odd: set[str], foreign: set[str]
    ) -> None:
        self._ids = ids
        self._cursors = cursors
        self._odd = odd
        self._foreign = foreign
        self.differences: list[str] = []

    def match(self, theirs: Any, ours: Any, where: str) -> None:
        """Note every place where the two differ."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            self._match_objects(theirs, ours, where)
        elif isinstance(theirs, list) and isinstance(ours, list):
            self._match_lists(theirs, ours, where)
        elif isinstance(theirs, str) and isinstance(ours, str):
            if not self._same_text(theirs, ours):
                self._differs(where, theirs, ours)
        elif theirs != ours or type(theirs) is not type(ours):
            self._differs(where, theirs, ours)

    def _match_objects(self, theirs: Frame, ours: Frame, where: str) -> None:
        theirs, ours = _without_partial(theirs), _without_partial(ours)
        for key in theirs.keys() | ours.keys():
            if key in IGNORED or (key == "data" and where.endswith(".error")):
                continue
            if key not in theirs or key not in ours:
                self._differs(f"{where}.{key}", theirs.get(key, "absent"), ours.get(key, "absent"))
                continue
            self._match_value(key, theirs[key], ours[key], f"{where}.{key}", theirs)

    def _match_value(self, key: str, theirs: Any, ours: Any, where: str, parent: Frame) -> None:
        if key in TIMES or key in ONLY_KIND or key in CURSORS:
            if (theirs is None) != (ours is None):
                # Where rows were left out, nothing may be left to page from.
                if not any(self._left_out(row) for row in parent.get("data") or ()):
                    self._differs(where, theirs, ours)
            elif key in CURSORS and isinstance(theirs, str):
                self._cursors[theirs] = ours
        elif key in IDS and isinstance(theirs, str) and isinstance(ours, str):
            if self._ids.setdefault(theirs, ours) != ours and where.count(".") > 1:
                self._differs(where, self._ids[theirs], ours)
        elif key == "data" and isinstance(theirs, list) and _is_models(theirs):
            if ours:
                self.match(sorted(theirs[0]), sorted(ours[0]), where)
        elif key == "text" and parent.get("phase") is None and parent.get("type") == "agentMessage":
            return  # of an answer that was cut short, as much as had come
        elif key == "message" and parent.get("codexErrorInfo") == "contextWindowExceeded":
            return  # a sentence with the product's name in it
        else:
            self.match(theirs, ours, where)

    def _match_lists(self, theirs: list[Any], ours: list[Any], where: str) -> None:
        theirs = [one for one in theirs if not self._left_out(one)]
        mapped = {self._ids[one] for one in self._odd | self._foreign if one in self._ids}
        ours = [one for one in ours if not _belongs(one, mapped)]
        if len(theirs) != len(ours):
            self._differs(where, f"{len(theirs)} elements", f"{len(ours)} elements")
            return
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            self.match(one, other, f"{where}[{index}]")

    def _left_out(self, element: Any) -> bool:
        return _belongs(element, self._odd | self._foreign)

    def _same_text(self, theirs: str, ours: str) -> bool:
        for known, own in self._ids.items():
            theirs = theirs.replace(known, own)
        if theirs == ours:
            return True
        head, cut, _ = theirs.partition("…[cut ")
        if cut:
            return ours.startswith(head[:150])
        if theirs.startswith("Invalid request: unknown variant `nope"):
            return ours.startswith(theirs.partition(", expected")[0])
        return theirs.startswith(_RETRY_TEXTS) and ours.startswith(_RETRY_TEXTS)

    def _differs(self, where: str, theirs: Any, ours: Any) -> None:
        self.differences.append(f"{where}: {str(theirs)[:200]!r} became {str(ours)[:200]!r}")


def is_left_behind(frame: Frame, cut_short: set[str]) -> bool:
    """What tells of a turn that was cut short, beside its end.

    We record what was shown of the answer and the original does not; it repeats the usage before
    the turn, when that comes in time.
    """
    params, method = frame.get("params") or {}, frame.get("method")
    if params.get("turnId") not in cut_short:
        return False
    message = method == "item/completed" and params["item"]["type"] == "agentMessage"
    return message or method == "thread/tokenUsage/updated"


def _without_partial(turn: Frame) -> Frame:
    """The turn without an answer that was cut short."""
    if turn.get("status") == "completed" or not isinstance(turn.get("items"), list):
        return turn
    return {**turn, "items": [one for one in turn["items"] if one["type"] != "agentMessage"]}


def _belongs(element: Any, ids: set[str]) -> bool:
    """Whether a row of a list is a turn, item or thread that does not count."""
    if isinstance(element, str):
        return element in ids
    return isinstance(element, dict) and (element.get("id") in ids or element.get("turnId") in ids)


def _is_models(rows: list[Any]) -> bool:
    return bool(rows) and isinstance(rows[0], dict) and "supportedReasoningEfforts" in rows[0]
