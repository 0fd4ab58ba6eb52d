"""Cutting a byte stream into bounded lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.wire.limits import WireLimits
from server.wire.lines import LineCutter, leading_id
from server.wire.transport import Refused

LIMITS = WireLimits(frame_bytes_max=20, skipped_bytes_max=30)


def cut(*chunks: bytes) -> list[bytes | Refused]:
    """What a cutter gives for these chunks and the end of the stream."""
    cutter = LineCutter(LIMITS)
    lines = [line for chunk in chunks for line in cutter.feed(chunk)]
    return lines + cutter.finish()


def test_lines_come_out_whole_however_they_are_chunked() -> None:
    """Also the last one, which has no line end."""
    assert cut(b"on", b"e\ntwo\n\n \r\nth", b"ree") == [b"one", b"two", b"three"]


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(1, 7))
def test_any_chunking_gives_the_same_lines(lines: list[bytes], size: int) -> None:
    """The place of a cut never shows."""
    lines = [line.replace(b"\n", b"x") for line in lines]
    stream = b"\n".join(lines)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    whole = [] if not stream else cut(stream)
    assert cut(*chunks) == whole


@pytest.mark.requirement("FR-T11")
def test_a_line_above_the_bound_is_refused_with_its_id_and_the_next_one_works() -> None:
    """The id is found in what came first."""
    long, after = cut(b'{"id":7,"method"', b":" + b"x" * 20, b"x" * 5 + b"\nnext\n")
    assert isinstance(long, Refused) and (long.id, long.ends) == (7, False)
    assert "longer than 20 bytes" in long.error.message
    assert after == b"next"


@pytest.mark.requirement("FR-T11")
def test_a_stream_without_a_line_end_is_given_up_and_nothing_is_kept() -> None:
    """First the line is refused, then the stream ends; what follows is not looked at."""
    cutter = LineCutter(LIMITS)
    answers = [answer for _ in range(12) for answer in cutter.feed(b"x" * 10)]
    assert [isinstance(one, Refused) and one.ends for one in answers] == [False, True]
    assert cutter.feed(b"\nline\n") == [] and cutter.finish() == []


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"id":5,"method":"m","params":{"te', 5),
        (b'{"id" : -12 , "method"', -12),
        (b'{"method":"m","id":"a\\"b","params":{', 'a"b'),
        (b'{"params":{"id":1,"x":[{"id":2}]},"id":3,"y":"zz', 3),
        (b'{"params":{"id":1,"text":"aaaaaaa', None),
        (b'{"params":"\\"id\\":4,","x":"', None),
        (b'{"id":12', None),
        (b'{"id":1.5,"method":"m"', None),
        (b'{"id":null,"method":"m"', None),
        (b'["id",1,2,3', None),
        (b"\xff\xfe garbage", None),
    ],
)
def test_the_id_is_recovered_from_a_beginning_only_where_it_is_certain(
    head: bytes, expected: int | str | None
) -> None:
    """An id inside the parameters, or one that may go on, is not the id."""
    assert leading_id(head) == expected


@given(st.binary(max_size=300))
def test_recovering_an_id_never_fails(head: bytes) -> None:
    """Whatever the bytes are."""
    leading_id(head)
