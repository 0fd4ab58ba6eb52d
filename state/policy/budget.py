"""How much text fits: estimates of model tokens, and cuts that say that they cut.

Invariant: a model token counts as four UTF-8 bytes; no cut falls inside a character.
"""

from collections.abc import Iterator

BYTES_PER_TOKEN = 4
LINES_CUT_MARK = "[... cut here: the rest did not fit ...]"


def estimate_tokens(text: str) -> int:
    """The model tokens of a text, as the original counts them."""
    return -(-_size(text) // BYTES_PER_TOKEN)


def truncate_middle(text: str, *, tokens_max: int) -> str:
    """Head and tail of a text around a marker that counts the tokens left out."""
    size, budget = _size(text), tokens_max * BYTES_PER_TOKEN
    if size <= budget:
        return text
    head, tail = _ends(text, budget)
    removed = -(-(size - budget) // BYTES_PER_TOKEN)
    return f"{head}…{removed} tokens truncated…{tail}"


def truncate_middle_bytes(text: str, *, bytes_max: int) -> str:
    """Head and tail of a text around a marker that counts the characters left out."""
    if _size(text) <= bytes_max:
        return text
    head, tail = _ends(text, bytes_max)
    removed = len(text) - len(head) - len(tail)
    return f"{head}…{removed} chars truncated…{tail}"


def cut_at_lines(text: str, *, tokens_max: int) -> str:
    """The whole lines from the start that fit with a marker line behind them.

    Where not even the first line fits, it is cut; the result never exceeds the budget.
    """
    if estimate_tokens(text) <= tokens_max:
        return text
    room = tokens_max * BYTES_PER_TOKEN - _size(LINES_CUT_MARK) - 1
    if room <= 0:
        return _head(text, tokens_max * BYTES_PER_TOKEN)
    head = _head(text, room + 1)
    edge = head.rfind("\n")
    kept = head[:edge] if edge > 0 else _head(text, room)
    return f"{kept}\n{LINES_CUT_MARK}"


def chunk_utf8(text: str, bytes_max: int) -> list[str]:
    """The text in pieces of at most so many bytes; joined they are the text again.

    Raises: ValueError (a piece of fewer than four bytes could not hold every character).
    """
    if bytes_max < 4:
        raise ValueError("a piece must hold at least four bytes")
    return list(_chunks(text.encode(errors="surrogatepass"), bytes_max))


def _chunks(data: bytes, bytes_max: int) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = _back_to_edge(data, min(start + bytes_max, len(data)))
        yield data[start:end].decode(errors="surrogatepass")
        start = end


def _ends(text: str, budget: int) -> tuple[str, str]:
    data = text.encode(errors="surrogatepass")
    left = _back_to_edge(data, budget // 2)
    right = len(data) - (budget - budget // 2)
    while right < len(data) and data[right] & 0xC0 == 0x80:
        right += 1
    return (
        data[:left].decode(errors="surrogatepass"),
        data[max(left, right) :].decode(errors="surrogatepass"),
    )


def _head(text: str, bytes_max: int) -> str:
    data = text.encode(errors="surrogatepass")
    return data[: _back_to_edge(data, max(0, bytes_max))].decode(errors="surrogatepass")


def _back_to_edge(data: bytes, end: int) -> int:
    end = min(end, len(data))
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
