"""Cuts a Markdown file of memory into its units: what one hit of a search can be.

Pure. A unit is a bullet with what is indented below it, a paragraph, a fence, or a heading that
states something by itself. Invariant: units do not overlap, stand in the order of the file, and
name whole lines; one longer than the bound is cut at line ends, a longer line inside.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_read.days import moment_of
from memory_read.wording import stems
from state.workspace.layout import NOTES

UNIT_BYTES_MAX = 16_384
"""Longer blocks are cut; the messages of the conversations we measure with stay whole."""
BULLET_BYTES_MAX = 1_024
"""Up to here a bullet keeps the bullets below it."""
HEADINGS_MAX = 6
LABEL_WORDS_MAX = 8
THREADS_MAX = 8

_HEADING = re.compile(rb"(#{1,6})\s+(.*\S)")
_BULLET = re.compile(rb"(\s*)(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(rb"\s*(?:```|~~~)")
_ABOUT_FILE = re.compile(
    rb"(?:thread_id|updated_at|rollout_path|rollout_summary_file|cwd|git_branch|applies_to): ?\S"
)
_CWD = re.compile(r"^(?:applies_to: cwd=([^;\n]+)|cwd: (.+))", re.MULTILINE)
_SOURCES = "rollout_summary_files"
_KEYWORDS = "keywords"
_FRAME = re.compile(
    rb"(?:outcome|task|task_group|task_outcome|keywords):(?: .*)?|-{3,}|No raw memories yet\."
    rb"|Merged stage-1 raw memories \(.*\):|Nothing was stated so far\."
    rb"|description: what the user stated, first of all: .*"
    rb"|scope: (?:what the user (?:stated|asked)|what a person wrote"
    rb"|what the memory of another home|reported by a program|nothing was learned).*",
    re.IGNORECASE,
)
"""Lines by which a consolidation orders what it writes; they state nothing themselves."""
_GROUP = "task group:"
_FRAME_TITLE = re.compile(
    r"user (?:profile|preferences)|general tips|what's in memory"
    r"|older memory topics|reusable knowledge|failures and how to do differently",
    re.IGNORECASE,
)
"""Headings of the same order, beside those of groups and their tasks."""
_POINTER = re.compile(rb"\s*- extensions/\S+\.md(?: \([^()\n]*\))?\s*")
"""Names a file and says nothing of what it holds."""
_THREAD = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)
_TASK = re.compile(r"Task (\d+)\b")


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One piece of a file that a search can find."""

    span: Span
    first_line: int
    """From 1; `last_line` belongs to it."""
    last_line: int
    headings: tuple[Span, ...]
    """The lines of the headings above it, the outermost first."""
    text: str
    around: str
    """What its headings and the keywords of its section say."""
    at_ms: int | None
    thread_ids: tuple[str, ...]
    cwd: str
    """The folder that it holds for, as its section or file says; empty where none does."""


@dataclass(slots=True)
class _Block:
    begin: int
    end: int
    first_line: int
    last_line: int
    kind: str
    indent: int = 0


@dataclass(slots=True)
class _Section:
    """A heading and what stands between it and the next one."""

    level: int
    title: str
    span: Span | None
    line: int
    above: tuple["_Section", ...] = ()
    blocks: list[_Block] = field(default_factory=list)
    tasks: dict[str, "_Section"] = field(default_factory=dict)
    """Of an outermost heading: the numbered tasks below it."""
    keywords: str = ""
    sources: str = ""
    has_below: bool = False


def cut_units(data: bytes, *, path: str) -> list[Unit]:
    """The units of a file; bytes that are no UTF-8 are replaced in their texts."""
    head, sections = _sections(data)
    about = _About(_threads(head), moment_of(head) or moment_of(path), _cwd(head))
    for section in sections:
        _take_aside(section, data)
    units: list[Unit] = []
    is_alone = sum(len(section.blocks) for section in sections) == 1
    is_note = path.startswith(f"{NOTES}/")
    for section in sections:
        if section.title.casefold() in (_KEYWORDS, _SOURCES):
            continue
        for block in section.blocks:
            if is_alone or not (_is_label(block, data) or (not is_note and _is_frame(block, data))):
                units += _units(block, section, data, about)
        if section.span is not None and _is_said(section, is_note=is_note):
            line = section.line
            own = _Block(section.span.begin, section.span.end, line, line, "heading")
            units += _units(own, section, data, about)
    return units


def _is_said(section: _Section, *, is_note: bool) -> bool:
    """Whether a heading has nothing under it and says more than what stands elsewhere."""
    if section.blocks or section.has_below:
        return False
    group = (*section.above, section)[0].title.casefold().startswith(_GROUP)
    is_task = section.level == 1 or _TASK.match(section.title) is not None
    return is_note or not ((group and is_task) or _FRAME_TITLE.fullmatch(section.title))


def _is_label(block: _Block, data: bytes) -> bool:
    """A line that only says what follows it, such as `References` or `Reusable knowledge:`.

    A sentence of a script without spaces is one word between spaces, and no label.
    """
    if block.kind != "text" or block.first_line != block.last_line:
        return False
    line = data[block.begin : block.end]
    words = line.split()
    if len(words) < 2:
        return len(stems(line.decode(errors="replace"))) < 2
    return len(words) < LABEL_WORDS_MAX and words[-1].endswith(b":")


def _is_frame(block: _Block, data: bytes) -> bool:
    """Nothing but what a consolidation writes around statements."""
    lines = data[block.begin : block.end].splitlines()
    return all(_FRAME.fullmatch(line.strip()) or _POINTER.fullmatch(line) for line in lines)


@dataclass(frozen=True, slots=True)
class _About:
    thread_ids: tuple[str, ...]
    at_ms: int | None
    cwd: str


def _sections(data: bytes) -> tuple[str, list[_Section]]:
    """What the file says of itself, and its sections in order."""
    sections = [_Section(0, "", None, 0)]
    head: list[bytes] = []
    fenced = False
    block: _Block | None = None
    for number, (begin, end) in enumerate(_lines(data), 1):
        line = data[begin:end]
        heading = None if fenced else _HEADING.match(line)
        if heading:
            block = None
            sections.append(_section(heading, Span(begin, end), number, sections))
        elif not fenced and _ABOUT_FILE.match(line):
            block = None
            if len(sections) == 1:
                head.append(line)
            else:
                sections[-1].sources += line.decode(errors="replace")
        elif not line.strip() and not fenced:
            block = None
        elif not fenced and block is None and line.strip(b" -=*_\r\n") == b"":
            continue  # a rule
        else:
            opened = _BULLET.match(line)
            indent = len(opened[1].expandtabs(4)) if opened else 0
            if block is None or (opened and not fenced and _begins(block, indent)):
                kind = "bullet" if opened else "text"
                block = _Block(begin, end, number, number, kind, indent)
                sections[-1].blocks.append(block)
            else:
                block.end, block.last_line = end, number
            if _FENCE.match(line):
                fenced = not fenced
    return b"\n".join(head).decode(errors="replace"), sections


def _begins(block: _Block, indent: int) -> bool:
    """Whether a bullet begins a unit of its own rather than belonging to the one above."""
    if block.kind != "bullet" or indent <= block.indent:
        return True
    return block.end - block.begin >= BULLET_BYTES_MAX


def _section(
    heading: re.Match[bytes], span: Span, number: int, sections: Sequence[_Section]
) -> _Section:
    level = len(heading[1])
    last = sections[-1]
    path = (*last.above, last) if last.span is not None else ()
    above = tuple(one for one in path if one.level < level)[-HEADINGS_MAX + 1 :]
    title = heading[2].decode(errors="replace")
    section = _Section(level, title, span, number, above)
    if title.casefold() not in (_KEYWORDS, _SOURCES):
        for one in above:
            one.has_below = True
    task = _TASK.match(title)
    if task and above:
        above[0].tasks[task[1]] = section
    return section


def _take_aside(section: _Section, data: bytes) -> None:
    """Keywords and sources speak for the section above them; they are no units."""
    title = section.title.casefold()
    if title not in (_KEYWORDS, _SOURCES) or not section.above:
        return
    text = b"\n".join(data[one.begin : one.end] for one in section.blocks).decode(errors="replace")
    parent = section.above[-1]
    if title == _KEYWORDS:
        parent.keywords += f" {text}"
    else:
        parent.sources += f" {text}"


def _units(block: _Block, section: _Section, data: bytes, about: _About) -> Iterator[Unit]:
    path = (*section.above, section) if section.span is not None else ()
    titles = [one.title for one in path]
    if block.kind == "heading":
        titles = titles[:-1]
    around = " ".join((*titles, *(one.keywords for one in path)))
    said = " ".join(one.sources for one in path)
    above = path[:-1] if block.kind == "heading" else path
    headings = tuple(one.span for one in above if one.span is not None)
    for begin, end, first, last in _pieces(block, data):
        text = data[begin:end].decode(errors="replace")
        cited = " ".join(
            path[0].tasks[number].sources
            for number in (_TASK.findall(text) if path else ())
            if number in path[0].tasks
        )
        ids = _threads(f"{text} {cited}") or _threads(f"{' '.join(titles)} {said}")
        at_ms = moment_of(f"{cited} {said}") or moment_of(" ".join(reversed(titles))) or about.at_ms
        yield Unit(
            span=Span(begin, end),
            first_line=first,
            last_line=last,
            headings=headings,
            text=text,
            around=around,
            at_ms=at_ms,
            thread_ids=ids or about.thread_ids,
            cwd=_cwd(said) or about.cwd,
        )


def _pieces(block: _Block, data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The block in pieces within the bound: begin, end, first and last line."""
    if block.end - block.begin <= UNIT_BYTES_MAX:
        yield block.begin, block.end, block.first_line, block.last_line
        return
    begin, first = block.begin, block.first_line
    number = block.first_line
    for start, end in _lines(data[block.begin : block.end]):
        start, end = start + block.begin, end + block.begin
        if end - begin > UNIT_BYTES_MAX and start > begin:
            yield begin, start, first, number - 1
            begin, first = start, number
        while end - begin > UNIT_BYTES_MAX:
            cut = begin + UNIT_BYTES_MAX
            while cut > begin + 1 and data[cut] & 0xC0 == 0x80:
                cut -= 1  # not inside a character
            yield begin, cut, number, number
            begin = cut
        number += 1
    if begin < block.end:
        yield begin, block.end, first, block.last_line


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each line, its end included."""
    begin = 0
    while begin < len(data):
        found = data.find(b"\n", begin)
        end = len(data) if found < 0 else found + 1
        yield begin, end
        begin = end


def _cwd(text: str) -> str:
    found = _CWD.search(text)
    return (found[1] or found[2]).strip() if found else ""


def _threads(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.lower() for one in _THREAD.findall(text)))[:THREADS_MAX]
