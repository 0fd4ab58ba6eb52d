"""A memory folder of any size, made up the way real ones look, and questions that it can answer.

Words are as frequent as in prose (Zipf), the most frequent are English function words. Recaps have
a head, tasks and bullets of very different lengths; beside them stand a handbook, a summary, a few
skills and notes. The same seed gives the same bytes.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VOCABULARY = 60_000
WORDS_A_UNIT = 125
"""On average: 100,000 units are 100 MB, which is long for an entry."""
HANDBOOK_SHARE = 0.02
NOTES = 30
SKILLS = 12
QUESTIONS = 600
_FUNCTION_WORDS = (
    "the to of and a in is for it that on with we be as this are by not use from at or was when "
    "run if file an you test can all should have has but so no which do after before then into "
    "only must does where were their how than will up it's out there what also any been"
).split()
_SYLLABLES = (
    "ba cor di fen gul hap jo kem lis mun nor pel qua ris sol tav ur vex wim yon zet bra cle dro "
    "fli gra ple sta tri".split()
)
_ENDINGS = ("", "", "", "er", "ing", "s", "ed", "ion", "ly")
_ASKING = ("what is the", "how do we", "which", "when did the", "where does the", "why is")


@dataclass(slots=True)
class Question:
    """What is asked, and the line that it was made from."""

    text: str
    path: str
    line: int


@dataclass(slots=True)
class Written:
    """What stands in the folder."""

    questions: list[Question] = field(default_factory=list)
    """Five to fifteen words, with those in between that say nothing."""
    pairs: list[Question] = field(default_factory=list)
    """Two words."""
    files: int = 0


@dataclass(slots=True)
class _Words:
    chance: random.Random
    every: list[str]
    weights: list[float]

    def drawn(self, count: int) -> list[str]:
        return self.chance.choices(self.every, cum_weights=self.weights, k=count)


def write(folder: Path, units: int) -> Written:
    """Write a memory of so many units."""
    chance = random.Random(7)
    words = _words(chance)
    written = Written()
    for name in ("rollout_summaries", "skills", "extensions/ad_hoc/notes"):
        (folder / name).mkdir(parents=True)
    handbook = round(units * HANDBOOK_SHARE)
    asked_every = max(1, units // QUESTIONS)
    left, number = units - handbook - NOTES - SKILLS, 0
    while left > 0:
        count = min(left, max(4, min(120, round(chance.lognormvariate(3.2, 0.6)))))
        day = f"2026-{1 + number * 11 // max(units // 28, 12):02d}-{1 + number % 28:02d}"
        path = f"rollout_summaries/{day}T{number % 24:02d}-00-00-{number:05d}.md"
        head = [f"thread_id: {_thread(number)}", f"updated_at: {day}T10:00:00+00:00", ""]
        _write(folder, path, head, count, words, written, asked_every)
        left, number = left - count, number + 1
    _write(folder, "MEMORY.md", ["# Handbook", ""], handbook, words, written, asked_every)
    (folder / "memory_summary.md").write_text("v1\n\n" + _bullets(words, 20))
    for skill in range(SKILLS):
        place = folder / "skills" / f"skill-{skill}"
        place.mkdir()
        (place / "SKILL.md").write_text(f"# Skill {skill}\n\n{_bullets(words, 1)}")
    for note in range(NOTES):
        name = f"2026-11-{1 + note % 28:02d}T10-00-{note:02d}-note.md"
        (folder / "extensions/ad_hoc/notes" / name).write_text(_bullets(words, 1))
    written.files = number + 2 + SKILLS + NOTES
    chance.shuffle(written.questions)
    chance.shuffle(written.pairs)
    return written


def _write(
    folder: Path,
    path: str,
    head: Sequence[str],
    count: int,
    words: _Words,
    written: Written,
    asked_every: int,
) -> None:
    lines = [*head]
    chance = words.chance
    for unit in range(count):
        if unit % 8 == 0:
            lines += ["", f"## Task {unit // 8 + 1}: {' '.join(words.drawn(5))}", ""]
        said = words.drawn(_length(chance))
        lines.append("- " + " ".join(said))
        if chance.randrange(asked_every) == 0:
            written.questions.append(Question(_question(chance, said), path, len(lines)))
            telling = [word for word in dict.fromkeys(said) if word not in _FUNCTION_WORDS]
            if len(telling) > 1:
                two = " ".join(chance.sample(telling, 2))
                written.pairs.append(Question(two, path, len(lines)))
    (folder / path).write_text("\n".join(lines) + "\n")


def _length(chance: random.Random) -> int:
    return max(6, min(1_500, round(chance.lognormvariate(4.5, 0.82) * WORDS_A_UNIT / 126)))


def _question(chance: random.Random, said: Sequence[str]) -> str:
    """A few words of the unit that stand near each other, asked for in other words around them."""
    begin = chance.randrange(max(1, len(said) - 20))
    near = list(dict.fromkeys(said[begin : begin + 20]))
    wanted = chance.randint(4, 12)
    kept = sorted(chance.sample(range(len(near)), min(wanted, len(near))))
    return " ".join([chance.choice(_ASKING), *(near[place] for place in kept)])


def _bullets(words: _Words, count: int) -> str:
    return "".join(f"- {' '.join(words.drawn(40))}\n" for _ in range(count))


def _words(chance: random.Random) -> _Words:
    every = list(itertools.islice(_made_up(chance), VOCABULARY - len(_FUNCTION_WORDS)))
    ranked = [*_FUNCTION_WORDS, *every]
    weights = itertools.accumulate(1 / (rank + 2.7) ** 1.05 for rank in range(len(ranked)))
    return _Words(chance, ranked, list(weights))


def _made_up(chance: random.Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        stem = "".join(chance.choices(_SYLLABLES, k=chance.choice((2, 2, 3, 3, 4))))
        word = stem + chance.choice(_ENDINGS)
        if word not in seen:
            seen.add(word)
            yield word


def _thread(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"
