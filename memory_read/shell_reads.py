"""Which memory files a shell command reads, for the counters.

Pure, and nothing is run. Invariant: a command that is not fully understood counts as no read at
all; what is told is one of a fixed few words, never a path.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from posixpath import join
from typing import Literal

COMMAND_CHARS_MAX = 16_384
READS_MAX = 16

Kind = Literal["memory_md", "memory_summary", "raw_memories", "rollout_summaries", "skills"]

_PLACES: tuple[tuple[str, Kind], ...] = (
    ("memories/MEMORY.md", "memory_md"),
    ("memories/memory_summary.md", "memory_summary"),
    ("memories/raw_memories.md", "raw_memories"),
    ("memories/rollout_summaries/", "rollout_summaries"),
    ("memories/skills/", "skills"),
)
_PIPE = "|"
_SEPARATORS = frozenset({"&&", "||", ";", _PIPE})
# Outside of quotes each of these makes a line more than plain words: expansion, grouping, files.
_NOT_PLAIN = re.compile(r"[`$(){}<>]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"`$\\]*\"")
_PUNCTUATION = frozenset("();<>|&")
_SED_RANGE = re.compile(r"[0-9]+(?:,[0-9]+)?p")
_NUMBER = re.compile(r"[+-]?[0-9]+[a-zA-Z]{0,2}")
_SHORT_COUNT = re.compile(r"-[0-9]+")
# They shape what another command read, and read nothing when they stand behind a pipe.
_FORMATTERS = frozenset({"head", "tail", "wc", "tr", "cut", "sort", "uniq", "nl", "cat", "less"})
_SEARCH_VALUED = frozenset(
    {"-A", "-B", "-C", "-m", "-g", "-t", "-T", "-e", "--glob", "--type", "--max-count"}
)
_LISTINGS = frozenset({"--files", "-l", "--files-with-matches"})

Operands = list[str]


@dataclass(frozen=True, slots=True)
class ShellRead:
    """One memory file, or folder of memory, that a command reads."""

    kind: Kind
    version: Literal["v1", "v2"]


def shell_reads(command: str) -> tuple[ShellRead, ...]:
    """The reads of memory in a command line, in order; empty where it is not understood."""
    if len(command) > COMMAND_CHARS_MAX:
        return ()
    parts = _parts(command)
    if parts is None:
        return ()
    paths: list[str] = []
    folder = ""
    for words, piped in parts:
        if words[0] == "cd":
            if len(words) != 2 or piped:
                return ()
            folder = join(folder, words[1])
            continue
        found = _paths_read(words, piped=piped)
        if found is None:
            return ()
        paths += [join(folder, path) for path in found]
    reads = (_classified(path) for path in paths)
    return tuple(read for read in reads if read is not None)[:READS_MAX]


def _parts(command: str) -> list[tuple[list[str], bool]] | None:
    """The commands of a line, each with whether it stands behind a pipe; None if not plain."""
    if _NOT_PLAIN.search(_QUOTED.sub("", command)):
        return None
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    parts: list[tuple[list[str], bool]] = []
    words: list[str] = []
    piped = False
    for token in [*tokens, ";"]:
        if token not in _SEPARATORS:
            if _PUNCTUATION.issuperset(token):
                return None
            words.append(token)
            continue
        if words:
            parts.append((words, piped))
        elif token == _PIPE:
            return None
        words, piped = [], token == _PIPE
    return parts


def _paths_read(words: Sequence[str], *, piped: bool) -> Operands | None:
    """The paths that one command reads or searches; None for a command of another kind."""
    name, rest = words[0].rpartition("/")[2], list(words[1:])
    if name == "git" and rest[:1] == ["grep"]:
        name, rest = "grep", rest[1:]
    if (reader := _READERS.get(name)) is not None:
        paths = reader(rest)
        if paths == [] and piped and name in _FORMATTERS:
            return []
        return paths or None
    if (searcher := _SEARCHERS.get(name)) is not None:
        return searcher(rest)
    return [] if piped and name in _FORMATTERS else None


def _whole_file(words: list[str]) -> Operands | None:
    """`cat FILE`."""
    operands = [word for word in words if not word.startswith("-")]
    return operands if len(operands) <= 1 else None


def _some_lines(words: list[str]) -> Operands | None:
    """`head -n 5 FILE`, `tail -5 FILE`."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-n", "-c", "--lines", "--bytes"):
            if not _NUMBER.fullmatch(next(rest, "")):
                return None
        elif not word.startswith("-"):
            operands.append(word)
        elif not (_SHORT_COUNT.fullmatch(word) or word[:2] in ("-n", "-c") or "=" in word):
            return None
    return operands if len(operands) <= 1 else None


def _sed(words: list[str]) -> Operands | None:
    """`sed -n 1,20p FILE`."""
    match words:
        case ["-n", lines, *operands] if _SED_RANGE.fullmatch(lines) and len(operands) <= 1:
            return operands
        case _:
            return None


def _awk(words: list[str]) -> Operands | None:
    """`awk PROGRAM FILE`."""
    operands = _operands(words, frozenset({"-F", "-v"}))
    return operands[1:2] if 1 <= len(operands) <= 2 else None


def _get_content(words: list[str]) -> Operands | None:
    """`Get-Content [-Path] FILE`."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.lower() in ("-path", "-literalpath"):
            operands.append(next(rest, ""))
        elif word.lower() in ("-totalcount", "-tail", "-encoding", "-first"):
            next(rest, None)
        elif word.lower() != "-raw":
            operands.append(word)
    return operands if len(operands) == 1 and operands[0] else None


def _search(words: list[str]) -> Operands | None:
    """`rg [options] PATTERN [PATH]...`; a listing of names is no search."""
    if _LISTINGS & set(words):
        return None
    given = any(word in ("-e", "--regexp") for word in words)
    operands = _operands(words, _SEARCH_VALUED)
    return operands if given else operands[1:]


def _fd(words: list[str]) -> Operands | None:
    """`fd PATTERN [PATH]`."""
    operands = _operands(words, frozenset({"-e", "-t", "-d", "-E"}))
    return operands[1:] if operands else None


def _find(words: list[str]) -> Operands | None:
    """`find PATH -name PATTERN`."""
    if not {"-name", "-iname", "-path", "-regex"} & set(words):
        return None
    if {"-exec", "-execdir", "-delete", "-ok", "-fprint"} & set(words):
        return None
    paths: list[str] = []
    for word in words:
        if word.startswith("-"):
            break
        paths.append(word)
    return paths


def _operands(words: list[str], valued: frozenset[str]) -> Operands:
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*operands, *rest]
        if word in valued:
            next(rest, None)
        elif not word.startswith("-") or word == "-":
            operands.append(word)
    return operands


_READERS: dict[str, Callable[[list[str]], Operands | None]] = {
    **dict.fromkeys(("cat", "bat", "batcat", "less", "more", "nl"), _whole_file),
    **dict.fromkeys(("head", "tail"), _some_lines),
    "sed": _sed,
    "awk": _awk,
    **dict.fromkeys(("Get-Content", "gc"), _get_content),
}
_SEARCHERS: dict[str, Callable[[list[str]], Operands | None]] = {
    **dict.fromkeys(("rg", "rga", "grep", "egrep", "fgrep", "ag", "ack", "pt"), _search),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "find": _find,
}


def _classified(path: str) -> ShellRead | None:
    plain = path.replace("\\", "/")
    version: Literal["v1", "v2"] = "v1"
    if "memories_v2/" in plain or plain.endswith("memories_v2"):
        version, plain = "v2", plain.replace("memories_v2", "memories")
    for place, kind in _PLACES:
        if place in plain or plain.endswith(place.rstrip("/")):
            return ShellRead(kind, version)
    return None
