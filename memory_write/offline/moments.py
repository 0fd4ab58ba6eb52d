"""The messages of a session as the rules look at them: what each states, and what is around it.

Pure. Both the rules and the learning of their weights take a session from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memory_write.offline.attributed import own
from memory_write.offline.evidence import MESSAGES_AFTER, Cure, cures, runs
from memory_write.offline.judge import is_secret, language
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.loose import Around, name_of, reverses
from memory_write.offline.sentences import statements
from state.policy.redaction import contains_secret
from state.rollouts.items import Transcript, TranscriptItem

USER_ITEMS_MAX = 2_000
LANGUAGE_CHARS_MAX = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A message of the user."""

    item: TranscriptItem
    number: int
    said: tuple[str, ...]
    asked: str
    """What the assistant said right before, empty when nothing."""
    typed_before: str
    """The user's message before, empty when there is none."""
    around: Around

    @property
    def opening(self) -> bool:
        """It opens the session."""
        return self.number == 0


def moments(transcript: Transcript) -> Iterator[Moment]:
    """The user's messages in order."""
    items = transcript.items
    hint, project = _tongue(transcript), name_of(transcript.cwd)
    ran = runs(items)
    begun = cures(ran)
    ends: dict[Cure, int] = {}
    typed = [place for place, item in enumerate(items) if item.kind == "user"][-USER_ITEMS_MAX:]
    for number, place in enumerate(typed):
        item = items[place]
        yield Moment(
            item=item,
            number=number,
            said=_said_in(item.text),
            asked=_asked(items[typed[number - 1] + 1 if number else 0 : place]),
            typed_before=items[typed[number - 1]].text if number else "",
            around=Around(
                hint=hint,
                project=project,
                ran=ran,
                cures=_cures_at(begun, ends, place, number),
                answered=number > 0 and _is_answered(items[typed[max(0, number - 2)] : place]),
                reversing=reverses(item.text, hint),
            ),
        )


def _cures_at(
    begun: tuple[Cure, ...], ends: dict[Cure, int], place: int, number: int
) -> tuple[Cure, ...]:
    """The cures that a message at this place may speak of: begun, and not long past."""
    for cure in begun:
        if cure.ends < place:
            ends.setdefault(cure, number)
    return tuple(
        cure
        for cure in begun
        if cure.begins < place and number - ends.get(cure, number) < MESSAGES_AFTER
    )


def _said_in(text: str) -> tuple[str, ...]:
    """What a message states in its writer's own words, without what holds a secret."""
    return tuple(
        one for one in own(statements(text)) if not contains_secret(one) and not is_secret(one)
    )


def _is_answered(between: tuple[TranscriptItem, ...]) -> bool:
    return any(item.kind == "assistant" for item in between)


def _asked(between: tuple[TranscriptItem, ...]) -> str:
    return next((item.text for item in reversed(between) if item.kind == "assistant"), "")


def _tongue(transcript: Transcript) -> Lexicon:
    """The language that the user types in."""
    typed = " ".join(item.text for item in transcript.items if item.kind == "user")
    return language(typed[:LANGUAGE_CHARS_MAX])
