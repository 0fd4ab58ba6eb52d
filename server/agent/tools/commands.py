"""What a command line is made of, for people and for the rules on approval. Pure: nothing is run.

Invariant: a line counts as taken apart only if it is nothing but plain words joined by `&&`, `||`,
`;` and `|`; with an expansion, a redirection or a group it is one unknown command.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Words = tuple[str, ...]
COMMAND_CHARACTERS_MAX = 65_536
PARTS_MAX = 64

_JOINTS = frozenset({"&&", "||", ";", "|"})
_PUNCTUATION = frozenset("();<>|&")
_QUOTED = re.compile(r"'[^']*'|\"[^\"`$\\!]*\"")
_NOT_PLAIN = re.compile(r"[`$(){}<>*?\[\]~!#\\]|(?<![&])&(?![&])|=\(")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_SHELL_FOLDERS = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin"})
_SED_RANGE = re.compile(r"\d+(,\d+)?p")


def segments(command: str) -> tuple[Words, ...] | None:
    """The plain commands of a line; None where it is more than that."""
    if not command.strip() or len(command) > COMMAND_CHARACTERS_MAX or "\0" in command:
        return None
    if _NOT_PLAIN.search(_QUOTED.sub("''", command)):
        return None
    lexer = shlex.shlex(command.strip().replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.wordchars += "@%+,^:=/-."
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    found: list[Words] = []
    words: list[str] = []
    for token in tokens:
        if token in _JOINTS:
            if not words:
                return None
            found.append(tuple(words))
            words = []
        elif token and _PUNCTUATION.issuperset(token):
            return None
        else:
            words.append(token)
    if words:
        found.append(tuple(words))
    elif tokens and tokens[-1] != ";":
        return None
    return tuple(found) if 0 < len(found) <= PARTS_MAX else None


def takes_lines(program: str) -> bool:
    """Whether it is a shell of the system, so that a line it is given does what the line says."""
    folder, name = posixpath.split(program)
    return name in _SHELLS and folder in _SHELL_FOLDERS


def actions(command: str, cwd: str) -> list[Mapping[str, Any]]:
    """What the line does, as clients show it: reads, listings, searches; or one unknown command."""
    unknown: list[Mapping[str, Any]] = [{"type": "unknown", "command": command}]
    parts = segments(command)
    if parts is None:
        return unknown
    found: list[Mapping[str, Any]] = []
    folder = cwd
    for index, words in enumerate(parts):
        if words[0] == "cd" and len(words) == 2:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
            continue
        if index and words[0] in _SHAPERS and _operands(words[1:]) == []:
            continue
        action = _action(words, folder)
        if action is None:
            return unknown
        found.append(action)
    return found or unknown


def _action(words: Words, folder: str) -> Mapping[str, Any] | None:
    name, rest, text = words[0], list(words[1:]), shlex.join(words)
    match name:
        case "cat" | "bat" | "batcat" | "less" | "more" | "head" | "tail" | "nl":
            return _read(text, _operands(rest), folder)
        case "sed":
            if len(rest) == 3 and rest[0] == "-n" and _SED_RANGE.fullmatch(rest[1]):
                return _read(text, rest[2:], folder)
            return None
        case "ls" | "tree" | "du" | "eza":
            return _listing(text, _operands(rest), folder)
        case "rg" if "--files" in rest:
            return _listing(text, _operands(rest), folder)
        case "rg" | "grep" | "egrep" | "fgrep" | "ag":
            operands = _operands(rest, _SEARCHED)
            return _search(text, operands[:1], operands[1:], folder) if operands else None
        case "git" if rest[:1] == ["grep"]:
            operands = _operands(rest[1:], _SEARCHED)
            return _search(text, operands[:1], operands[1:], folder) if operands else None
        case "find":
            named = [rest[i + 1] for i, one in enumerate(rest[:-1]) if one in ("-name", "-iname")]
            where = rest[:1] if rest and not rest[0].startswith("-") else []
            return _search(text, named, where, folder) if named else _listing(text, where, folder)
        case _:
            return None


_SHAPERS = frozenset(
    {"head", "tail", "wc", "sort", "uniq", "cut", "tr", "nl", "cat", "less", "column"}
)
_COUNTED = frozenset({"-n", "-c", "-L", "-I", "-d", "-w"})
_SEARCHED = frozenset({"-A", "-B", "-C", "-m", "-g", "-t", "-T", "-d", "--glob", "--type"})
"""Options that are followed by a value: of what shapes and shows text, and of what searches."""


def _operands(words: Sequence[str], valued: frozenset[str] = _COUNTED) -> list[str]:
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands.extend(rest)
        elif word in valued:
            next(rest, None)
        elif word == "-e":
            operands.insert(0, next(rest, ""))
        elif not word.startswith("-") or word == "-":
            operands.append(word)
    return operands


def _read(command: str, operands: Sequence[str], folder: str) -> Mapping[str, Any] | None:
    if len(operands) != 1 or operands[0] == "-":
        return None
    path = posixpath.normpath(posixpath.join(folder, operands[0]))
    name = posixpath.basename(path)
    return {"type": "read", "command": command, "name": name, "path": path}


def _listing(command: str, operands: Sequence[str], folder: str) -> Mapping[str, Any]:
    path = operands[0] if operands else None
    return {"type": "listFiles", "command": command, "path": path}


def _search(
    command: str, query: Sequence[str], where: Sequence[str], folder: str
) -> Mapping[str, Any]:
    return {
        "type": "search",
        "command": command,
        "query": query[0] if query else None,
        "path": where[0] if where else None,
    }


_LOOKING = frozenset({
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "egrep", "fgrep", "head", "id", "ls", "nl",
    "paste", "pwd", "rev", "seq", "stat", "tail", "tr", "true", "uname", "wc", "which", "whoami",
    "numfmt", "tac", "basename", "dirname", "realpath", "readlink", "du", "df",
})  # fmt: skip
_FIND_ACTS = ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint")
_RG_ACTS = ("--pre", "--hostname-bin", "--search-zip", "-z")
_SORT_ACTS = ("--output", "--compress-program", "-o")
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "rev-parse", "ls-files", "blame"})
_GIT_ACTS = ("--output", "-o", "--ext-diff", "--textconv", "--exec", "-O", "--open-files-in-pager")


def only_looks(words: Words) -> bool:
    """Whether a plain command is known to change nothing and to run nothing else."""
    name, rest = words[0], words[1:]
    if name in _LOOKING:
        return True
    match name:
        case "uniq":
            # A second one would be written; the value of an option counts as one.
            return sum(not one.startswith("-") or one == "-" for one in rest) <= 1
        case "file":
            return not any(_is_option(one, ("-C", "--compile")) for one in rest)
        case "sort":
            return not any(_is_option(one, _SORT_ACTS) for one in rest)
        case "base64":
            return not any(_is_option(one, ("-o", "--output")) for one in rest)
        case "find":
            return not any(one.startswith(_FIND_ACTS) for one in rest)
        case "rg":
            return not any(_is_option(one, _RG_ACTS) for one in rest)
        case "sed":
            is_range = len(rest) in (2, 3) and bool(_SED_RANGE.fullmatch(rest[1]))
            return is_range and rest[0] == "-n" and not rest[-1].startswith("-")
        case "git":
            return (
                bool(rest)
                and rest[0] in _GIT_LOOKS
                and not any(_is_option(one, _GIT_ACTS) for one in rest[1:])
            )
        case _:
            return False


def _is_option(word: str, options: Sequence[str]) -> bool:
    """Also where it is cut short, as programs allow, or stands among other letters."""
    name = word.partition("=")[0]
    if word.startswith("--"):
        return len(name) > 2 and any(one.startswith(name) for one in options)
    letters = [one[1] for one in options if not one.startswith("--")]
    return word.startswith("-") and any(letter in word[1:] for letter in letters)


def destroys_much(words: Words) -> bool:
    """Whether a plain command may take away much at once, and for good."""
    name, rest = posixpath.basename(words[0]), words[1:]
    if name in ("sudo", "doas", "env", "nohup", "time", "command", "exec") and rest:
        return destroys_much(rest)
    check = _DESTROYERS.get(name)
    return name.startswith("mkfs") or (check is not None and check(rest))


def _forces(rest: Sequence[str]) -> bool:
    short = "".join(one[1:] for one in rest if one.startswith("-") and one[1:2] != "-")
    return "f" in short or "--force" in rest


_DESTROYERS: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "rm": _forces,
    "dd": lambda rest: any(one.startswith("of=/dev/") for one in rest),
    "shred": lambda rest: True,
    "wipefs": lambda rest: True,
    "shutdown": lambda rest: True,
    "reboot": lambda rest: True,
    "poweroff": lambda rest: True,
    "git": lambda rest: (
        (rest[:1] == ("clean",) and _forces(rest[1:]))
        or (rest[:1] == ("reset",) and "--hard" in rest)
        or (rest[:1] == ("push",) and _forces(rest[1:]))
    ),
    "chmod": lambda rest: "-R" in rest and any(one in ("/", "~") for one in rest),
    "chown": lambda rest: "-R" in rest and any(one in ("/", "~") for one in rest),
}
