"""The words that carry a statement's meaning, in one form each, for merging and for finding.

Pure. Stems are crude and only ever compared with each other, never shown.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re

from memory_write.offline.asked_again import kept

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’.+#-][^\W_]+)*")
_SHOWN = re.compile(r"[\u3400-\u9fff]+|\w+(?:['’.+#/-]\w+)*")
_PLACE = re.compile(r"(?<![\w/])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])+")
"""Where a file lies on this machine: nobody searches for that, and it says who its user is."""
_LATIN_SPLIT = re.compile(r"[_/]")
_STOP = frozenset(
    """
    a an the this that these those and or but if then than so as of in on at by for from with to
    into is are was were be been being am do does did doing done have has had having i i'm i'd i've
    we we're we've us our ours my mine me you your yours he she it it's its they them their the
    user user's one's what which who whom how why when where there here can could would will shall
    should must may might ought need needs want wants wanted prefer prefers preferred like likes
    love loves please always never not no don't doesn't didn't isn't aren't won't can't cannot
    shouldn't mustn't ever any every each all some only just also too very really more most much
    many such up out about over under after before again now on off own same few both between
    through during because until while let lets let's get gets got make makes made use uses used
    using keep keeps kept stay stays remember tell said say says know knows think future going
    forward default instead rather generally usually normally without thing things way stated
    longer anymore favour favor insist ensure sure try new decide decided agreed settled chose
    der die das ein eine einen und oder ich wir ist sind nicht kein keine immer nie bitte mit für
    auf im zu von mein meine jede jeden jedem vor ab jetzt
    el la los las un una y o yo es son no en de que por con mi mis siempre nunca cada favor
    le les des du et ou je nous est sont ne pas dans pour avec mon ma toujours jamais chaque
    我 我们 的 了 是 在 要 用 都
    """.split()
)
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}
_SAME = {
    "introductions": "intro", "introduction": "intro", "intros": "intro",
    "pr": "pullrequest", "prs": "pullrequest",
    "functions": "function", "methods": "method", "colour": "color",
    "uk": "british", "linting": "lint", "linter": "lint", "linters": "lint",
    "committing": "commit", "committed": "commit", "running": "run", "runner": "run",
    "ran": "run", "testing": "test", "tester": "test", "annotations": "hint",
    "annotation": "hint", "lives": "live", "living": "live", "reside": "live", "resides": "live",
    "based": "live", "located": "live", "moved": "live", "relocated": "live",
    "writes": "write", "writing": "write", "written": "write", "wrote": "write",
    "spelling": "spell", "spells": "spell", "titles": "title", "headings": "title",
    "heading": "title", "database": "db", "databases": "db", "postgresql": "postgres",
    "postgres": "postgres", "https": "https", "redis": "redis", "kubernetes": "kubernetes",
    "answers": "answer", "reply": "answer", "replies": "answer", "responses": "answer",
    "response": "answer",
}  # fmt: skip


@kept
def words(text: str) -> tuple[str, ...]:
    """The meaningful words of a text in order, as stems; common words are left out."""
    found: list[str] = []
    for token in _TOKEN.findall(_LATIN_SPLIT.sub(" ", text.lower().replace("’", "'"))):
        plain = token.removesuffix("'s")
        if not (token in _STOP or plain in _STOP) and (
            len(token) > 1 or token.isdigit() or ord(token) > 0x3400
        ):
            found.append(stem(token))
    return tuple(found)


@kept
def terms(text: str) -> frozenset[str]:
    """The set of meaningful stems."""
    return frozenset(words(text))


def shown_words(text: str, *, count_max: int) -> tuple[str, ...]:
    """Meaningful words in lower case, each stem once, for keyword lines; of a path its name."""
    found: dict[str, str] = {}
    for token in _SHOWN.findall(_PLACE.sub(" ", text).lower()):
        meaningful = token not in _STOP and (len(token) > 2 or token.isdigit())
        if meaningful:
            found.setdefault(stem(token), token)
    return tuple(found.values())[:count_max]


def stem(token: str) -> str:
    """One form for the forms of an English word; other words pass with little change."""
    if token in _NUMBERS:
        return _NUMBERS[token]
    if token in _SAME:
        return _SAME[token]
    token = token.removesuffix("'s")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 6), ("es", 6), ("s", 4)):
        if (
            token.endswith(ending)
            and len(token) >= least
            and not token.endswith(("ss", "us", "is"))
        ):
            cut = token[: -len(ending)]
            if ending == "ies":
                return cut + "y"
            if ending == "es" and not cut.endswith(("s", "x", "z", "ch", "sh")):
                return cut + "e"
            if (
                ending in ("ing", "ed")
                and len(cut) > 3
                and cut[-1] == cut[-2]
                and cut[-1] not in "ls"
            ):
                return cut[:-1]
            return cut
    return token
