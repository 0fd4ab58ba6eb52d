"""Remember and correct: notes of a person, in force for the next thread at once."""

import asyncio
import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass

from memory_read.inert import made_inert
from memory_read.snapshot import MemorySnapshot, PendingNote
from memory_read.standing import asks_to_forget
from memory_read.statements import statement_of
from memory_write.controls.notes import Remembered
from protocol.errors import WireError, draining, failed, refused
from protocol.messages.notes import (
    CorrectParams,
    InForce,
    NoteMissing,
    NoteReceipt,
    RememberParams,
)
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup
from server.handlers.services import Services
from server.settings import BUILT_VERSIONS
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.policy.corrections import correction_text, read_correction
from state.policy.note_form import masked_note, says_something
from state.workspace.layout import NOTES
from state.workspace.snapshot import FileContent

DIGEST_CHARS = 12
ID_CHARS_MAX = 400
STATEMENTS_MAX = 32
"""Of one note that is corrected as a whole."""

_LINE_ID = re.compile(
    r"^(?P<path>[^#\n]+):(?P<line>\d{1,9})(?:-(?P<last>\d{1,9}))?(?:#(?P<digest>[0-9a-f]{6,64}))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What is corrected, as it stands now."""

    name: str
    statements: tuple[str, ...]
    after: str | None = None
    """The file name of the newest note that corrected the same; what comes now is later."""


class NoteHandlers:
    """Answers the methods by which a person tells memory something."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def remember(self, call: Call, params: RememberParams) -> NoteReceipt:
        """Keep a note word for word, but for secrets."""
        version = await self._version(params)
        # The name of a request to forget must not say what is to be forgotten.
        named_by = "forget" if asks_to_forget(params.text) else None
        found = await self._kept(params.text, version, named_by=named_by)
        return self._receipt(found, said=params.text, corrects=None)

    async def correct(self, call: Call, params: CorrectParams) -> NoteReceipt:
        """Keep a note that says what no longer holds and what holds instead."""
        if not says_something(params.text):
            raise refused(
                "a correction needs the words that hold now; to take something out, forget it"
            )
        masked_note(params.text)  # a bare secret is refused, whatever stands around it in the note
        version = await self._version(params)
        memory = MemorySnapshot(self._services.state.home, version, self._services.gate)
        await self._services.gate.ready(version)
        target = await asyncio.to_thread(_target, memory, params.id, params.base)
        text = correction_text(target.name, target.statements, params.text)
        found = await self._kept(
            text,
            version,
            named_by=f"correct {params.text}",
            after=target.after or target.name.rpartition("/")[2],
        )
        return self._receipt(found, said=params.text, corrects=target.name)

    async def _kept(
        self, text: str, version: str, *, named_by: str | None = None, after: str | None = None
    ) -> Remembered:
        try:
            return await self._services.notes.remember(
                text, version=version, named_by=named_by, after=after
            )
        except OSError as error:
            folder = self._services.state.home.memories(version)
            why = error.strerror or "input/output error"
            raise failed(
                f"the note could not be written below {folder}: {why}; nothing was kept",
                {"kind": "noteNotKept", "retryable": True},
            ) from error

    async def _version(self, params: RememberParams | CorrectParams) -> str:
        """The memory version that the note is for.

        Raises: WireError, RolloutMissing.
        """
        services = self._services
        if services.draining():
            raise draining()
        if params.cwd is not None and not params.cwd.startswith("/"):
            raise refused(f"cwd must be absolute: {params.cwd[:ID_CHARS_MAX]}")
        if params.version is not None:
            if params.version not in BUILT_VERSIONS:
                built = ", ".join(BUILT_VERSIONS)
                raise refused(
                    f"there is no memory version {params.version[:40]}; it is one of {built}"
                )
            return params.version
        if params.thread_id is not None:
            thread_id = thread_id_of(params.thread_id)
            found = await self._lookup.find(thread_id)
            if found is None:
                raise RolloutMissing(thread_id)
            if found.live is not None:
                return found.live.settings.memory_version
        return services.settings.memory.version

    def _receipt(self, found: Remembered, *, said: str, corrects: str | None) -> NoteReceipt:
        services = self._services
        services.lanes.wake()
        used = services.settings.memory_off_by is None
        in_force: InForce = "next thread" if used else "when memory is on"
        return NoteReceipt(
            note_id=found.note.name.removesuffix(".md"),
            base=found.note.note_id,
            durable=True,
            path=found.note.path,
            version=found.note.version,
            versions=list(found.versions),
            missing=[NoteMissing(version=one, reason=why) for one, why in found.missing.items()],
            in_force=in_force,
            masked=found.note.masked,
            withheld=made_inert(masked_note(said)).withheld,
            corrects=corrects,
        )


def line_digest(text: str) -> str:
    """Names lines by their words, so that they are known again where others moved them."""
    return _digest(text)[:DIGEST_CHARS]


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode(errors="surrogatepass")).hexdigest()


def _target(memory: MemorySnapshot, given: str, base: str | None) -> _Target:
    """What an id names; blocks on files.

    Raises: WireError.
    """
    if len(given) > ID_CHARS_MAX:
        raise refused(f"an id has at most {ID_CHARS_MAX} characters")
    if found := _LINE_ID.match(given):
        first = int(found["line"])
        last = int(found["last"] or first)
        return _lines(memory, found["path"], first, last, base or found["digest"])
    return _note(memory, given, base)


def _note(memory: MemorySnapshot, given: str, base: str | None) -> _Target:
    name = given.removeprefix(f"{NOTES}/").removesuffix(".md")
    path = f"{NOTES}/{name}.md"
    text = memory.note(path)
    if text is None:
        raise refused(
            f"there is no note {given}; an id is that of a note, or PATH:LINE of a memory file",
            {"kind": "memoryNotFound", "retryable": False},
        )
    statements = _statements(_said(text))
    if not statements:
        raise refused(f"the note {name} states nothing that could be corrected")
    newest = _newest_correction(memory, path, statements)
    current = text if newest is None else newest.text
    current_id = FileContent(data=current.encode()).blob_id
    if base is not None and base != current_id:
        raise _stale(path, current_id, _said(current))
    if newest is None:
        return _Target(name=path, statements=statements)
    # What was put right before may be in the files by now: it gives way as well.
    both = dict.fromkeys((*statements, *_statements(_said(newest.text))))
    return _Target(
        name=path,
        statements=tuple(both)[:STATEMENTS_MAX],
        after=newest.path.rpartition("/")[2],
    )


def _said(text: str) -> str:
    """What a note says now, without what it quotes."""
    correction = read_correction(text)
    return text if correction is None else correction.new


def _statements(said: str) -> tuple[str, ...]:
    return tuple(filter(None, map(statement_of, said.split("\n"))))[:STATEMENTS_MAX]


def _newest_correction(
    memory: MemorySnapshot, place: str, statements: Collection[str]
) -> PendingNote | None:
    """The newest note by which a place, or one of these statements, was put right before."""
    for note in reversed(memory.notes()):
        found = read_correction(note.text)
        if found is not None and note.path != place:
            if found.target == place or not set(found.old).isdisjoint(statements):
                return note
    return None


def _lines(memory: MemorySnapshot, path: str, first: int, last: int, base: str | None) -> _Target:
    if last - first >= STATEMENTS_MAX:
        raise refused(f"at most {STATEMENTS_MAX} lines are corrected at a time")
    text = memory.lines(path, first, last)
    if base is not None and (text is None or not _digest(text).startswith(base)):
        count = last - first + 1
        moved = memory.places_of(path, count, lambda one: _digest(one).startswith(base))
        if len(moved) != 1:
            now = None if text is None else line_digest(text)
            raise _stale(_place(path, first, last), now, text)
        first, last = moved[0], moved[0] + count - 1
        text = memory.lines(path, first, last)
    place = _place(path, first, last)
    said = () if text is None else _statements(text)
    if not said:
        what = "is no line of memory" if text is None else "states nothing to correct"
        raise refused(
            f"{place} {what}; take a line that a search names",
            {"kind": "memoryNotFound", "retryable": False},
        )
    newest = _newest_correction(memory, place, said)
    after = None if newest is None else newest.path.rpartition("/")[2]
    return _Target(name=place, statements=said, after=after)


def _place(path: str, first: int, last: int) -> str:
    return f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def _stale(place: str, base: str | None, text: str | None) -> WireError:
    """Somebody changed it since the caller looked; the error carries what stands there now."""
    return refused(
        f"{place} says something else than you saw; nothing was written",
        {"kind": "staleBase", "retryable": False, "current": {"base": base, "text": text}},
    )
