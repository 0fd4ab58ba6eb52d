"""From a transcript to the entries that it supports, with what the user was answered to.

Only items of the kind `user` are ever looked at for what is kept: what tools, pages, instruction
files or the assistant said cannot become memory here. The commands that were run only say whether
what the user told worked.
"""

# ruff: noqa: RUF001  dashes are meant

import re
from dataclasses import dataclass, replace

from memory_write.offline.asked_again import let_go
from memory_write.offline.backward import points_back, widens
from memory_write.offline.forms import by_form
from memory_write.offline.implied import implied
from memory_write.offline.judge import Judged, Scope, hearing
from memory_write.offline.leaning import weighed_up
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.loose import (
    JOINED_CHARS_MAX,
    endorses,
    is_complaint,
    retracts,
)
from memory_write.offline.merging import Entry, merged
from memory_write.offline.moments import Moment, moments
from memory_write.offline.pronouns import dangles
from memory_write.offline.repo_facts import names_repo_facts
from memory_write.offline.revisions import NEAR_MESSAGES, revised
from memory_write.offline.sentences import bare
from memory_write.offline.switches import confirms
from memory_write.offline.terms import terms
from memory_write.offline.whom import scope_of_address
from memory_write.offline.wording import worded
from state.rollouts.items import Transcript

USER_ITEMS_MAX = 2_000
ENTRIES_MAX = 100
FEEDBACK_WORDS = 4
FRAGMENT_WORDS_MAX = 4
DETAIL_WORDS_MAX = 12
LANGUAGE_CHARS_MAX = 8_000
TAKEN_BACK_MESSAGES = 3
"""How far back a message that takes something back is looked for what it means."""
_NAMES_ITS_OBJECT = re.compile(
    r"\b(?:said|told you|wrote|mentioned|gesagt|sagte|geschrieben) (?:\w+ )?"
    r"(?:about|regarding|über|zu|zum|zur)\b|\b(?:trompée?|equivocado|equivoqué|vertan|geirrt) "
    r"(?:pour|sur|con|en|bei|mit)\b|\b(?:über|zu|zum|zur) [\w-]+ gesagt\b",
    re.IGNORECASE,
)
_GOOD = frozenset(
    "good great perfect thanks thank nice works excellent lovely danke merci gracias".split()
)
_BAD = frozenset("wrong broken fails fail failing still nope no".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a session leaves."""

    entries: tuple[Entry, ...]
    outcome: str
    """`success`, `partial` or `uncertain`, by what the user said last about the work."""
    lines: dict[str, int]
    """The rollout line of each quote."""


def listen(transcript: Transcript) -> Heard:
    """All that the user's own words say for later, duplicates merged, corrected ones replaced."""
    listener = _Listener(transcript)
    try:
        for moment in moments(transcript):
            listener.take(moment)
            if len(listener.found) >= ENTRIES_MAX:
                break
        entries = merged(listener.found[:ENTRIES_MAX])
    finally:
        let_go()
    return Heard(
        entries=entries,
        outcome=_outcome(transcript),
        lines=listener.lines,
    )


class _Listener:
    """Takes the user's messages in order and collects what they leave."""

    def __init__(self, transcript: Transcript) -> None:
        self.found: list[Entry] = []
        self.lines: dict[str, int] = {}
        self._messages: list[int] = []
        """For each entry, the number of its message."""
        self._transcript = transcript
        self._asked: str | None = None
        self._place = 0

    def take(self, moment: Moment) -> None:
        """One message."""
        if moment.around.reversing:
            self._take_back(moment)
        for entry in self._entries(moment):
            self.lines.setdefault(entry.quote, moment.item.line)
            if not self._continues(entry, moment.number):
                self._replace(entry, moment)
                self.found.append(entry)
                self._messages.append(moment.number)
        self._asked = moment.item.text[:400]

    def _continues(self, entry: Entry, number: int) -> bool:
        """Whether the entry is the next step of a procedure told by and by; then it joins."""
        if not self.found or entry.kind != "procedure":
            return False
        last, told = self.found[-1], self._messages[-1]
        text = f"{last.text} {entry.text}"
        if last.kind != "procedure" or number - told > 1 or len(text) > JOINED_CHARS_MAX:
            return False
        self.found[-1] = replace(last, text=text, quote=f"{last.quote} {entry.quote}")
        self._messages[-1] = number
        return True

    def _replace(self, entry: Entry, moment: Moment) -> None:
        """Let go of what an entry says otherwise than an earlier message did."""
        earlier = [
            one
            for one, told in zip(self.found, self._messages, strict=True)
            if told < moment.number
        ]
        near = [moment.number - told <= NEAR_MESSAGES for told in self._messages[: len(earlier)]]
        at = revised(earlier, entry, message=moment.item.text, near=near)
        if at is not None:
            del self.found[at], self._messages[at]

    def _take_back(self, moment: Moment) -> None:
        """Let go of the latest statement that a message takes back."""
        text, number = moment.item.text, moment.number
        said = terms(text)
        for at in range(len(self.found) - 1, -1, -1):
            near = number - self._messages[at] <= TAKEN_BACK_MESSAGES
            shared = said & terms(self.found[at].text)
            if sum(2.0 if len(one) > 1 else 0.5 for one in shared) >= (2 if near else 4):
                del self.found[at], self._messages[at]
                return
        if _NAMES_ITS_OBJECT.search(text) or self.found[-1:] == [] or _is_shown(self.found[-1]):
            return  # `forget what I said about X`: the last word was about something else
        if self._messages[-1:] == [number - 1] and retracts(text, moment.around.hint):
            del self.found[-1], self._messages[-1]

    def _entries(self, moment: Moment) -> list[Entry]:
        found: list[Entry] = []
        said, around, hint = moment.said, moment.around, moment.around.hint
        asked = self._asked if around.answered else None
        pointing: str | None = None
        left: str | None = None
        taken: str | None = None
        for at, statement in enumerate(said):
            following = said[at + 1] if at + 1 < len(said) else None
            if taken == statement or (at and (endorses(statement, hint) or points_back(statement))):
                if found and left is None and widens(statement):
                    found[-1] = replace(found[-1], scope="everywhere")
                continue  # said about the statement before, and kept with it
            found_form = by_form(moment, at, left=left is not None)
            verdicts, judged = found_form.verdicts, found_form.form == "judged"
            backed = following is not None and points_back(following)
            named = said[at - 1] if at else None
            kept_before = bool(found) and named is not None and left is None
            half = kept_before and named and _join_of(moment.item.text, named, statement)
            switched = following is not None and confirms(statement, following)
            joined = bool(half or switched)
            verdicts = weighed_up(found_form, moment, at, backed=backed, joined=joined)
            if kept_before and self._attaches(
                found, moment.item.text, (said[at - 1], statement), verdicts
            ):
                continue
            if verdicts and dangles(verdicts[0].text):
                verdicts = _with_noun(verdicts[0], named, statement, hint)
            left = None if verdicts else statement
            if (
                verdicts
                and not judged
                and _is_fragment(found, kept_before, said[at - 1], statement, hint)
            ):
                if len(said[at - 1]) < len(statement):
                    verdict = verdicts[0]
                    scope = _holds_where(verdict)
                    found[-1] = replace(found[-1], kind=verdict.kind, scope=scope)
                found[-1] = _with_next(found[-1], statement)
                continue
            if verdicts:
                found += [self._entry(verdict) for verdict in verdicts]
                pointing = statement if is_complaint(statement, hint) else None
                with_next = following is not None and verdicts[-1].text.endswith(bare(following))
                taken = following if with_next else None
            elif (pointed := implied(bare(statement), asked=asked)) is not None:
                found.append(self._pointed(pointed, bare(statement)))
                pointing = statement
            elif pointing is not None and at and said[at - 1] == pointing:
                _add_detail(found, statement, hint)
        return found

    def _attaches(
        self, found: list[Entry], typed: str, pair: tuple[str, str], verdicts: list[Judged]
    ) -> bool:
        """Whether a statement belongs to the one kept before it; then it joins that one."""
        before, statement = pair
        joined: str | None = None
        if verdicts and dangles(verdicts[0].text):
            joined = " "
        elif verdicts and "profile" not in (found[-1].kind, verdicts[0].kind):
            joined = _join_of(typed, before, statement)
        if joined is None and confirms(found[-1].text, statement):
            joined = " "
        if joined is None:
            return False
        found[-1] = _with_next(found[-1], statement, joined)
        return True

    def _entry(self, verdict: Judged) -> Entry:
        return replace(
            self._pointed(worded(verdict.text), verdict.text),
            kind=verdict.kind,
            scope=_holds_where(verdict),
        )

    def _pointed(self, text: str, quote: str) -> Entry:
        self._place += 1
        return Entry(
            text=text,
            quote=quote,
            kind="preference",
            scope="as stated",
            cwd=self._transcript.cwd,
            said_at="",
            place=self._place,
            sources=(self._transcript.thread_id,),
        )


def _with_noun(verdict: Judged, named: str | None, statement: str, hint: Lexicon) -> list[Judged]:
    """A statement that points with a pronoun, with the sentence before it, or nothing."""
    if named is None or hearing(named, hint) is None or dangles(named):
        return []
    return [replace(verdict, text=f"{bare(named)} {bare(statement)}")]


def _add_detail(found: list[Entry], statement: str, hint: Lexicon) -> None:
    """`No, shorter. I only need the command.`: the second says what the first means."""
    heard = hearing(statement, hint)
    if heard is not None and len(heard.core.split()) <= DETAIL_WORDS_MAX:
        last = found[-1]
        text = f"{last.text.rstrip('.')}: {heard.text.rstrip('.! ')}."
        found[-1] = replace(last, text=text)


def _is_shown(entry: Entry) -> bool:
    """Whether commands stand behind an entry, so that a word of reversal means another one."""
    return entry.kind in ("pitfall", "procedure")


def _is_fragment(
    found: list[Entry], kept_before: bool, before: str, statement: str, hint: Lexicon
) -> bool:
    """Whether one of two kept neighbours is too short to be kept alone; then they are one line."""
    if not kept_before or hint.name == "chinese" or found[-1].kind == "profile":
        return False
    least = min(len(bare(one).split()) for one in (before, statement))
    return least <= FRAGMENT_WORDS_MAX


def _holds_where(verdict: Judged) -> Scope:
    addressed = scope_of_address(verdict.text)
    if addressed is not None and verdict.scope != "everywhere":
        return addressed
    of_repo = verdict.scope == "as stated" and names_repo_facts(verdict.text)
    return "project" if of_repo else verdict.scope


def _with_next(entry: Entry, statement: str, joined: str = " ") -> Entry:
    """An entry with the sentence or half behind it, which says less alone."""
    front = entry.text if joined == " " else entry.text.rstrip(".")
    text = f"{front}{joined}{bare(statement)}"
    scope = "project" if entry.scope == "as stated" and names_repo_facts(text) else entry.scope
    return replace(entry, text=text, quote=f"{entry.quote}{joined}{bare(statement)}", scope=scope)


def _join_of(typed: str, first: str, second: str) -> str | None:
    """The semicolon or dash between two halves of one sentence."""
    flat = " ".join(typed.split())
    found = re.search(rf"{re.escape(first)}(;\s+|\s+[–—]\s+){re.escape(second)}", flat)
    return found.group(1) if found else None


def _outcome(transcript: Transcript) -> str:
    """Judged conservatively: only the user's last words count, and only after an answer."""
    last = [item for item in transcript.items if item.kind in ("user", "assistant")]
    for item in reversed(last):
        if item.kind == "user":
            said = set(
                item.text.lower().replace(",", " ").replace(".", " ").split()[:FEEDBACK_WORDS]
            )
            if said & _BAD:
                return "partial"
            return "success" if said & _GOOD else "uncertain"
    return "uncertain"
