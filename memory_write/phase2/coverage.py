"""How much of what the inputs state stands in an artefact; pure.

It answers one question: may most of a text go although its inputs stand? It may where the new text
says at least as much of the inputs as the old one did, so that another model, or rules in place of
a model, can word memory anew, while a text that merely lost most of itself is refused.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

from memory_write.phase2.evidence import words_of
from memory_write.phase2.sources import Sources, cited_in
from memory_write.recipes import Recipe
from state.workspace.layout import RAW_MEMORIES, RECAPS
from state.workspace.snapshot import Snapshot

STATEMENTS_MAX = 4_000
FOUND_SHARE = 0.6
COVERED_MIN = 0.5
_BULLET = re.compile(r"^\s*[-*+]\s+(?P<text>.+)$", re.MULTILINE)


def covers_the_same(
    published: Snapshot,
    written: Snapshot,
    offered: Snapshot,
    before: Sources,
    after: Sources,
    recipe: Recipe,
) -> bool:
    """Whether the new artefacts stand for the same inputs, and none of them says less of them."""
    old, new = _artefacts(published, recipe), _artefacts(written, recipe)
    cited = cited_in("\n".join(old)).threads(before) & after.thread_ids
    if not cited or cited - cited_in("\n".join(new)).threads(after):
        return False
    statements = _statements(offered, recipe)
    # A summary alone has no room for every statement, so it is measured by its forerunner only.
    least = COVERED_MIN if recipe.has_raw_memory else 0.0
    if _covered(statements, "\n".join(new)) < least:
        return False
    return all(
        (covered := _covered(statements, is_now)) > 0 and covered >= _covered(statements, was)
        for was, is_now in zip(old, new, strict=True)
    )


def _artefacts(snapshot: Snapshot, recipe: Recipe) -> list[str]:
    return [snapshot.text(path) or "" for path in recipe.artefacts]


def _statements(offered: Snapshot, recipe: Recipe) -> list[frozenset[str]]:
    """What the inputs state in bullets, without the quotes that an arrow sums up."""
    if recipe.has_raw_memory:
        texts = [offered.text(RAW_MEMORIES) or ""]
    else:
        texts = [offered.text(path) or "" for path in offered.below(RECAPS)]
    found = (
        words_of(bullet["text"].rpartition(" -> ")[2])
        for text in texts
        for bullet in _BULLET.finditer(text)
    )
    return [words for words in found if words][:STATEMENTS_MAX]


def _covered(statements: list[frozenset[str]], text: str) -> float:
    """The share of statements whose words stand together in one line."""
    lines: Mapping[str, list[int]] = defaultdict(list)
    for number, line in enumerate(text.split("\n")):
        for word in words_of(line):
            lines[word].append(number)
    found = 0
    for words in statements:
        together = Counter(number for word in words for number in lines.get(word, ()))
        found += max(together.values(), default=0) >= len(words) * FOUND_SHARE
    return found / len(statements) if statements else 0.0
