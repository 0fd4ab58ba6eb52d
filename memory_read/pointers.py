"""Do the files and symbols that memory names still exist? Marks them; deletes nothing.

Invariant: nothing outside the thread's workspace is looked at, neither over `..` nor over a link
nor by an absolute path; no shell, no network; and each look is counted against a bound, beyond
which a pointer stays unmarked instead of being called missing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from memory_read.checkout_search import SYMBOL_LIMITS, CheckoutSearch, PointerLimits
from state.policy.budget import estimate_tokens
from state.projects import repository_of

Kind = Literal["path", "symbol"]
Standing = Literal[
    "present", "other_branch", "renamed", "removed", "missing", "unversioned", "unchecked"
]
POINTERS_MAX = 200
LINE_TOKENS_MAX = 300
SHOWN_CHARS_MAX = 120

_SPAN = re.compile(r"`([^`\n]{1,240})`")
_BARE = re.compile(r"(?<![\w`/.:-])((?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}):\d+\b")
_LINE = re.compile(r"^(.*?)(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_PATH = re.compile(r"[\w.@+~-]*(?:/[\w.@+~-]+)*/?")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(\(\))?")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|^[A-Z][a-z]+[A-Z]")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_WITHIN = re.compile(r"\(in ([^()]{1,80})\)\s*(?:\[[^\]]*\]\s*)?$")
_PLAIN = re.compile(rf"[\w./@+~#-]{{0,{SHOWN_CHARS_MAX}}}")
_OURS = re.compile(
    r"^(?:rollout_summaries|skills|extensions|sessions|memories(?:_v\d)?)/|^MEMORY\.md$"
    r"|^memory_summary\.md$|^raw_memories\.md$"
)
# Names of one part count as files by these endings only: `3.12`, `example.com` and `v1` are none.
_ENDINGS = frozenset(
    "astro bash bat bib c cc cfg clj cmake conf cpp cs css csv cu dart dockerfile ex exs fs go "
    "gradle graphql groovy h hpp hs htm html ini ipynb java jl js json jsonc jsx kt less lock lua "
    "m md mjs mk ml mm nix php pl proto ps1 py pyi pyx r rb rs rst sass scala scss sh sql svelte "
    "swift tex tf toml ts tsx txt vb vue xml yaml yml zig zsh".split()
)
_FILES = frozenset({"Makefile", "Dockerfile", "Justfile", "Rakefile", "Gemfile", "Procfile"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """Something of a workspace that memory names."""

    text: str
    """As it is written, without a line number."""
    kind: Kind
    places: tuple[str, ...] = ()
    """Where the lines that name it say that they hold: a folder or a project's name; empty where
    one of them says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a pointer stands in a workspace."""

    pointer: Pointer
    standing: Standing
    detail: str = ""
    """The branch that has it, or its new path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerCheck:
    """What came of a look at a workspace."""

    marks: tuple[Mark, ...]
    looks: int = 0
    """Files, folders and git objects that were looked at."""

    @property
    def doubtful(self) -> tuple[Mark, ...]:
        """Those that are not simply there."""
        return tuple(one for one in self.marks if one.standing not in ("present", "unchecked"))


def pointers_in(text: str) -> tuple[Pointer, ...]:
    """Paths and symbols that a text names, each once, in the order of their first mention."""
    found: dict[tuple[str, Kind], set[str] | None] = {}
    heading = ""
    for line in text.split("\n"):
        if opened := _HEADING.match(line):
            if not opened[1][:1].isdigit():  # a day stands below the folder it belongs to
                heading = opened[1].strip() if opened[1].startswith(("/", "~")) else ""
            continue
        within = _WITHIN.search(line)
        place = within[1] if within else heading
        for name, kind in _named(line):
            key = (name, kind)
            known = found.get(key, set())
            if not place or known is None:
                found[key] = None
            else:
                found[key] = {*known, place}
            if len(found) >= POINTERS_MAX:
                return _pointers(found)
    return _pointers(found)


def check(cwd: str, text: str, *, limits: PointerLimits = SYMBOL_LIMITS) -> PointerCheck:
    """How the pointers of a text stand in the workspace of a folder; blocks on files."""
    pointers = pointers_in(text)
    if not pointers or not Path(cwd).is_dir():
        return PointerCheck(marks=())
    repository = repository_of(cwd)
    root = repository.root if repository is not None else Path(cwd).resolve()
    here = [one for one in pointers if _is_of(one, root)]
    if not here:
        return PointerCheck(marks=())
    with CheckoutSearch(root, repository, limits) as search:
        marks = tuple(_marks(search, here, root))
        return PointerCheck(marks=marks, looks=search.looks)


def pointer_lines(found: PointerCheck) -> str:
    """What a thread is told: one short line, of doubtful pointers only; empty without any."""
    told = [_told(mark) for mark in found.doubtful]
    head = "Pointers above that were checked against this workspace and are in doubt: "
    kept: list[str] = []
    left = LINE_TOKENS_MAX - estimate_tokens(head) - 8
    for one in told:
        left -= estimate_tokens(f"{one}; ")
        if left < 0:
            break
        kept.append(one)
    if not kept:
        return ""
    rest = f"; {len(told) - len(kept)} more" if len(kept) < len(told) else ""
    return f"{head}{'; '.join(kept)}{rest}.\n"


def _told(mark: Mark) -> str:
    name = f"`{mark.pointer.text[:SHOWN_CHARS_MAX]}`"
    # Names of branches and files are anybody's words.
    detail = mark.detail if _PLAIN.fullmatch(mark.detail) else "(an odd name)"
    match mark.standing:
        case "other_branch":
            return f"{name} only on branch `{detail}`"
        case "renamed":
            return f"{name} is now `{detail}`"
        case "removed":
            return f"{name} was removed" + (f", still on branch `{detail}`" if detail else "")
        case "unversioned":
            return f"{name} not found (and no git tells whether it was moved)"
        case _:
            return f"{name} not found"


def _marks(search: CheckoutSearch, pointers: Sequence[Pointer], root: Path) -> Iterator[Mark]:
    paths = {
        one: relative
        for one in pointers
        if one.kind == "path" and (relative := _relative(one.text, root)) is not None
    }
    found = search.paths(tuple(dict.fromkeys(paths.values())))
    names = {one: _last_name(one.text) for one in pointers if one.kind == "symbol"}
    first = tuple(path for path in paths.values() if found[path].standing == "present")
    symbols = search.symbols(frozenset(names.values()), first=first)
    for one in pointers:
        if one in paths:
            standing = found[paths[one]]
            yield Mark(pointer=one, standing=standing.standing, detail=standing.detail)
        elif one in names:
            there = symbols[names[one]]
            known: Mapping[bool | None, Standing] = {
                True: "present",
                False: "missing",
                None: "unchecked",
            }
            yield Mark(pointer=one, standing=known[there])


def _named(line: str) -> Iterator[tuple[str, Kind]]:
    for span in _SPAN.findall(line):
        name = span.strip()
        kind = _kind(name)
        if kind == "path":
            yield _without_line(name), "path"
        elif kind == "symbol":
            yield name, "symbol"
    for name in _BARE.findall(_SPAN.sub(" ", line)):
        if _kind(name) == "path":
            yield name, "path"


def _kind(name: str) -> Kind | None:
    path = _without_line(name)
    if "://" in name or "\\" in name or _OURS.match(path) or not any(map(str.isalpha, path)):
        return None
    if _PATH.fullmatch(path) and _is_path(path):
        return "path"
    symbol = _SYMBOL.fullmatch(name)
    if symbol and (symbol[1] or "_" in name.strip("_") or "::" in name or _CAMEL.search(name)):
        return "symbol"
    return None


def _is_path(path: str) -> bool:
    last = PurePosixPath(path).name
    ending = last.rpartition(".")[2].casefold() if "." in last.lstrip(".") else ""
    if "/" in path:
        # `and/or` and `origin/main` are no paths; a folder is written with its slash.
        return path.endswith("/") or ending in _ENDINGS or last in _FILES
    return ending in _ENDINGS or last in _FILES


def _without_line(name: str) -> str:
    found = _LINE.match(name)
    return found[1] if found else name


def _last_name(symbol: str) -> str:
    return re.split(r"\.|::|#", symbol.removesuffix("()"))[-1]


def _pointers(found: Mapping[tuple[str, Kind], set[str] | None]) -> tuple[Pointer, ...]:
    return tuple(
        Pointer(text=name, kind=kind, places=tuple(sorted(places or ())))
        for (name, kind), places in found.items()
    )


def _is_of(pointer: Pointer, root: Path) -> bool:
    """Whether one of the lines that name it may speak of this workspace."""
    if not pointer.places:
        return True
    return any(
        place == root.name or Path(place).is_relative_to(root) or root.is_relative_to(place)
        for place in pointer.places
        if place
    )


def _relative(text: str, root: Path) -> str | None:
    """The path below the root; None for one that leads out of it."""
    path = PurePosixPath(text)
    if path.is_absolute():
        if not path.is_relative_to(root.as_posix()):
            return None
        path = path.relative_to(root.as_posix())
    if ".." in path.parts or not path.parts or path.parts[0].startswith("~"):
        return None
    return path.as_posix()
