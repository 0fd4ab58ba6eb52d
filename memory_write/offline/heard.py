"""From a transcript to the entries that it supports, with what the user was answered to.

Only items of the kind `user` are ever looked at for what is kept: what tools, pages, instruction
files or the assistant said cannot become memory here. The commands that were run only say whether
what the user told worked.
"""

# ruff: noqa: RUF001  dashes are meant

import re
from dataclasses import dataclass, replace

from memory_write.offline.at_hand import about_later
from memory_write.offline.attributed import own
from memory_write.offline.bare_rules import bare_rule
from memory_write.offline.evidence import MESSAGES_AFTER, Cure, cures, runs
from memory_write.offline.implied import implied
from memory_write.offline.judge import Judged, Scope, hearing, is_secret, judge, language
from memory_write.offline.languages.english_words import VERBS
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.loose import (
    JOINED_CHARS_MAX,
    Around,
    endorses,
    is_complaint,
    loosely,
    name_of,
    retracts,
    reverses,
    settled,
)
from memory_write.offline.merging import Entry, merged
from memory_write.offline.pronouns import dangles
from memory_write.offline.repo_facts import names_repo_facts
from memory_write.offline.sentences import bare, statements
from memory_write.offline.switches import confirms
from memory_write.offline.terms import terms
from memory_write.offline.whom import scope_of_address
from memory_write.offline.wording import worded
from state.policy.redaction import contains_secret
from state.rollouts.items import Transcript, TranscriptItem

USER_ITEMS_MAX = 2_000
ENTRIES_MAX = 100
FEEDBACK_WORDS = 4
DETAIL_WORDS_MAX = 12
LANGUAGE_CHARS_MAX = 8_000
TAKEN_BACK_MESSAGES = 3
"""How far back a message that takes something back is looked for what it means."""
_ORDER = rf" and (?=(?:also |always |never |do not |don't )?{VERBS} )"
_JOINED_ORDERS = re.compile(f",?{_ORDER}", re.IGNORECASE)
_AFTER_COMMA = re.compile(f",{_ORDER}", re.IGNORECASE)
# In `I live here and use that` the second verb has the subject of the first.
_OF_SELF = re.compile(r"(?:.{1,30}, )?(?:i|we|the user)\b", re.IGNORECASE)
_NAMES_ITS_OBJECT = re.compile(
    r"\b(?:said|told you|wrote|mentioned|gesagt|sagte|geschrieben) (?:\w+ )?"
    r"(?:about|regarding|über|zu|zum|zur)\b|\b(?:über|zu|zum|zur) [\w-]+ gesagt\b",
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
    items = transcript.items
    typed = [place for place, item in enumerate(items) if item.kind == "user"][-USER_ITEMS_MAX:]
    for number, place in enumerate(typed):
        answered = number > 0 and _is_answered(items[typed[max(0, number - 2)] : place])
        listener.take(items[place], place=place, number=number, answered=answered)
        if len(listener.found) >= ENTRIES_MAX:
            break
    return Heard(
        entries=merged(listener.found[:ENTRIES_MAX]),
        outcome=_outcome(transcript),
        lines=listener.lines,
    )


def _is_answered(between: tuple[TranscriptItem, ...]) -> bool:
    return any(item.kind == "assistant" for item in between)


class _Listener:
    """Takes the user's messages in order and collects what they leave."""

    def __init__(self, transcript: Transcript) -> None:
        self.found: list[Entry] = []
        self.lines: dict[str, int] = {}
        self._messages: list[int] = []
        """For each entry, the number of its message."""
        self._transcript = transcript
        self._hint = _tongue(transcript)
        self._project = name_of(transcript.cwd)
        self._ran = runs(transcript.items)
        self._cures = cures(self._ran)
        self._ends: dict[Cure, int] = {}
        self._asked: str | None = None
        self._place = 0

    def take(self, item: TranscriptItem, *, place: int, number: int, answered: bool) -> None:
        """One message."""
        reversing = reverses(item.text, self._hint)
        if reversing:
            self._take_back(item.text, number)
        around = Around(
            hint=self._hint,
            project=self._project,
            ran=self._ran,
            cures=self._cures_at(place, number),
            answered=answered,
            reversing=reversing,
        )
        asked = self._asked if answered else None
        for entry in self._entries(item, around, asked, opening=number == 0):
            self.lines.setdefault(entry.quote, item.line)
            if not self._continues(entry, number):
                self.found.append(entry)
                self._messages.append(number)
        self._asked = item.text[:400]

    def _cures_at(self, place: int, number: int) -> tuple[Cure, ...]:
        """The cures that a message at this place may speak of: begun, and not long past."""
        for cure in self._cures:
            if cure.ends < place:
                self._ends.setdefault(cure, number)
        return tuple(
            cure
            for cure in self._cures
            if cure.begins < place and number - self._ends.get(cure, number) < MESSAGES_AFTER
        )

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

    def _take_back(self, text: str, number: int) -> None:
        """Let go of the latest statement that a message takes back."""
        said = terms(text)
        for at in range(len(self.found) - 1, -1, -1):
            if number - self._messages[at] > TAKEN_BACK_MESSAGES:
                break
            shared = said & terms(self.found[at].text)
            if sum(2.0 if len(one) > 1 else 0.5 for one in shared) >= 2:
                del self.found[at], self._messages[at]
                return
        if _NAMES_ITS_OBJECT.search(text):
            return  # `forget what I said about X`: the last word was about something else
        if self._messages[-1:] == [number - 1] and retracts(text, self._hint):
            del self.found[-1], self._messages[-1]

    def _entries(
        self, item: TranscriptItem, around: Around, asked: str | None, *, opening: bool
    ) -> list[Entry]:
        found: list[Entry] = []
        said = [
            one
            for one in own(statements(item.text))
            if not contains_secret(one) and not is_secret(one)
        ]
        pointing: str | None = None
        left: str | None = None
        taken: str | None = None
        for at, statement in enumerate(said):
            following = said[at + 1] if at + 1 < len(said) else None
            if taken == statement or (at and endorses(statement, self._hint)):
                continue  # said about the statement before, and kept with it
            judged = _verdicts(statement, self._hint)
            verdicts = [one for one in (settled(each, around) for each in judged) if one]
            if not judged:
                loose = loosely(
                    statement,
                    around,
                    before=said[at - 1] if at else None,
                    left=left is not None,
                    following=following,
                    endorsed=following is not None and endorses(following, self._hint),
                )
                verdicts = [loose] if loose is not None else bare_rule(statement, self._hint)
            if verdicts and not about_later(verdicts, statement, self._hint, opening=opening):
                verdicts = []
            named = said[at - 1] if at else None
            kept_before = bool(found) and named is not None and left is None
            if kept_before and self._attaches(found, item.text, said[at - 1 : at + 1], verdicts):
                continue
            if verdicts and dangles(verdicts[0].text):
                verdicts = self._with_noun(verdicts[0], named, statement)
            left = None if verdicts else statement
            if verdicts:
                found += [self._entry(verdict) for verdict in verdicts]
                pointing = statement if is_complaint(statement, self._hint) else None
                with_next = following is not None and verdicts[-1].text.endswith(bare(following))
                taken = following if with_next else None
            elif (pointed := implied(bare(statement), asked=asked)) is not None:
                found.append(self._pointed(pointed, bare(statement)))
                pointing = statement
            elif pointing is not None and at and said[at - 1] == pointing:
                self._add_detail(found, statement)
        return found

    def _attaches(
        self, found: list[Entry], typed: str, pair: list[str], verdicts: list[Judged]
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

    def _with_noun(self, verdict: Judged, named: str | None, statement: str) -> list[Judged]:
        """A statement that points with a pronoun, with the sentence before it, or nothing."""
        if named is None or hearing(named, self._hint) is None or dangles(named):
            return []
        return [replace(verdict, text=f"{bare(named)} {bare(statement)}")]

    def _add_detail(self, found: list[Entry], statement: str) -> None:
        """`No, shorter. I only need the command.`: the second says what the first means."""
        heard = hearing(statement, self._hint)
        if heard is not None and len(heard.core.split()) <= DETAIL_WORDS_MAX:
            last = found[-1]
            text = f"{last.text.rstrip('.')}: {heard.text.rstrip('.! ')}."
            found[-1] = replace(last, text=text)

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


def _tongue(transcript: Transcript) -> Lexicon:
    """The language that the user types in."""
    typed = " ".join(item.text for item in transcript.items if item.kind == "user")
    return language(typed[:LANGUAGE_CHARS_MAX])


def _verdicts(statement: str, hint: Lexicon) -> list[Judged]:
    """A statement, or the several that it joins: `always do this, and keep that short`."""
    whole = judge(statement, hint)
    if whole is None:
        return []
    first, *more = (_AFTER_COMMA if _OF_SELF.match(whole.text) else _JOINED_ORDERS).split(
        whole.text
    )
    head = judge(first, hint)
    if head is None or not more:
        return [whole]
    parts = [replace(whole, text=first.strip())]
    for part in more:
        # How long the first half holds is said once and meant for both.
        tail = judge(part, hint) or judge(f"from now on {part}")
        if tail is None:
            return [whole]
        parts.append(replace(whole, text=part.strip(), kind=tail.kind))
    return parts


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
