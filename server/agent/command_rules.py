"""The user's rules on commands: `prefix_rule(pattern=["git", "pull"], decision="allow")`.

They stand in `<home>/rules/*.rules`, one call a rule, in the syntax of the original. Reading them
runs nothing: the text is parsed, and only literals count. A pattern's word may be a list of words.
"""

import ast
import asyncio
import itertools
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from state.home import make_private_folder, write_private

log = logging.getLogger(__name__)

Words = tuple[str, ...]
DECISIONS = ("allow", "prompt", "forbidden")
SAVED = "default.rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLimits:
    """Bounds of the rules of one home."""

    files_max: int = 32
    file_bytes_max: int = 262_144
    rules_max: int = 2_000
    words_max: int = 64
    word_characters_max: int = 1_000


@dataclass(frozen=True, slots=True)
class BadRule:
    """A part of a file that is no rule; the rest of it counts."""

    file: str
    line: int
    reason: str


def judged(rules: Mapping[Words, str], segments: Iterable[Words] | None) -> str | None:
    """What the rules say of a command of these parts.

    The strictest decision of any part; `allow` only if each part is allowed; None if a part has no
    rule and none is forbidden or to be asked about.
    """
    if segments is None:
        return None
    found = [_longest(rules, words) for words in segments]
    for strict in ("forbidden", "prompt"):
        if strict in found:
            return strict
    return "allow" if found and all(one == "allow" for one in found) else None


def _longest(rules: Mapping[Words, str], words: Words) -> str | None:
    """The strictest rule whose pattern the words begin with."""
    found = {rules[words[:n]] for n in range(1, len(words) + 1) if words[:n] in rules}
    return next((one for one in reversed(DECISIONS) if one in found), None)


def parsed(
    text: str, *, file: str, limits: RuleLimits
) -> tuple[dict[Words, str], tuple[BadRule, ...]]:
    """The rules of one file, and what in it is none."""
    rules: dict[Words, str] = {}
    bad: list[BadRule] = []
    for line, statement in _statements(text):
        if statement is None:
            bad.append(BadRule(file, line, "it cannot be parsed"))
            continue
        try:
            found = list(_rule(statement, limits))
        except (_NoRule, ValueError) as error:
            bad.append(BadRule(file, line, str(error)))
            continue
        for words, decision in found:
            if len(rules) >= limits.rules_max:
                bad.append(BadRule(file, line, f"more than {limits.rules_max} rules"))
                return rules, tuple(bad)
            rules[words] = stricter(decision, rules.get(words))
    return rules, tuple(bad)


def _statements(text: str) -> Iterator[tuple[int, ast.stmt | None]]:
    """Each statement with its line; of a text that cannot be parsed, each line by itself.

    One slip of a pen must not take the rules away that forbid something.
    """
    try:
        yield from ((one.lineno, one) for one in ast.parse(text).body)
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        try:
            yield from ((number, one) for one in ast.parse(line).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            yield number, None


def stricter(one: str, other: str | None) -> str:
    """The stricter of two decisions."""
    return one if other is None else DECISIONS[max(DECISIONS.index(one), DECISIONS.index(other))]


class _NoRule(Exception):
    """A statement that is no rule."""


def _rule(statement: ast.stmt, limits: RuleLimits) -> Iterator[tuple[Words, str]]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _NoRule("only calls of prefix_rule are rules")
    if call.func.id != "prefix_rule":
        raise _NoRule(f"{call.func.id} is not known here")
    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
    decision = given.get("decision", "allow")
    if decision not in DECISIONS:
        raise _NoRule(f"decision must be one of {', '.join(DECISIONS)}")
    pattern = given.get("pattern")
    if not isinstance(pattern, list | tuple) or not 0 < len(pattern) <= limits.words_max:
        raise _NoRule("pattern must be a list of words")
    choices = [one if isinstance(one, list | tuple) else [one] for one in pattern]
    if any(not isinstance(word, str) or not word for words in choices for word in words):
        raise _NoRule("a word of a pattern must be a text or a list of texts")
    for words in itertools.islice(itertools.product(*choices), limits.rules_max):
        yield tuple(words), decision


class CommandRules:
    """The rules of one home; read again when a file changed, written by `save` alone."""

    def __init__(self, folder: Path, limits: RuleLimits = RuleLimits()) -> None:
        self._folder = folder
        self._limits = limits
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._rules: dict[Words, str] = {}
        self._writing = asyncio.Lock()

    async def current(self) -> Mapping[Words, str]:
        """Every rule there is; what is none is told once in the log."""
        return await asyncio.to_thread(self._read)

    async def save(self, prefix: Sequence[str]) -> None:
        """Allow commands that begin so, from now on and after a restart.

        Raises: OSError, HomeUnusable, ValueError.
        """
        words, limits = tuple(prefix), self._limits
        long = any(len(word) > limits.word_characters_max for word in words)
        if not 0 < len(words) <= limits.words_max or long or not all(words):
            raise ValueError("a rule needs between 1 and 64 words of at most 1000 characters")
        async with self._writing:
            await asyncio.to_thread(self._save, words)

    def _read(self) -> dict[Words, str]:
        files = sorted(self._folder.glob("*.rules"))[: self._limits.files_max]
        seen = tuple(
            (one.name, status.st_mtime_ns, status.st_size)
            for one in files
            if (status := one.stat()) and status.st_size <= self._limits.file_bytes_max
        )
        if seen == self._seen:
            return self._rules
        rules: dict[Words, str] = {}
        for name, _, _ in seen:
            text = (self._folder / name).read_text("utf-8", "replace")
            found, bad = parsed(text, file=name, limits=self._limits)
            for one in bad:
                log.warning("%s, line %d: %s", self._folder / one.file, one.line, one.reason)
            for words, decision in found.items():
                rules[words] = stricter(decision, rules.get(words))
        self._rules, self._seen = rules, seen
        return rules

    def _save(self, words: Words) -> None:
        make_private_folder(self._folder)
        file = self._folder / SAVED
        text = file.read_text("utf-8") if file.exists() else ""
        known, _ = parsed(text, file=SAVED, limits=self._limits)
        if known.get(words) == "allow":
            return
        pattern = json.dumps(list(words), ensure_ascii=False)
        line = f'prefix_rule(pattern={pattern}, decision="allow")\n'
        if text and not text.endswith("\n"):
            text += "\n"
        whole = (text + line).encode()
        if len(whole) > self._limits.file_bytes_max or len(known) >= self._limits.rules_max:
            raise ValueError(f"{file} holds as many rules as it may; remove some to save more")
        write_private(file, whole)
