"""What is kept of a command's output, and how it is told."""

from hypothesis import given
from hypothesis import strategies as st

from server.agent.tools.output import Deltas, HeadTail, Telling, cut_for_model
from server.agent.tools.shell_text import looks_denied, report


@given(st.lists(st.binary(max_size=40)), st.integers(2, 60))
def test_head_and_tail_are_what_came_first_and_last(pieces: list[bytes], bound: int) -> None:
    """Within the bound nothing is missing; beyond it the middle is, and is counted."""
    kept, whole = HeadTail(bound), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)
    assert kept.total == len(whole)
    if kept.left_out == 0:
        assert kept.data() == whole
    else:
        assert len(whole) > 2 * (bound // 2)
        assert kept.data().startswith(whole[: bound // 2])
        assert kept.data().endswith(whole[-(bound // 2) :])
        assert kept.left_out == len(whole) - 2 * (bound // 2)


@given(st.text(), st.integers(1, 7), st.integers(1, 9))
def test_deltas_joined_are_the_text_whatever_the_cuts(text: str, cut: int, piece: int) -> None:
    """No character is split, nothing is lost or moved."""
    data = text.encode("utf-8", "replace")
    deltas = Deltas(bytes_max=10_000_000, piece_bytes_max=piece)
    told = [t for at in range(0, len(data), cut) for t in deltas.pieces(data[at : at + cut])]
    told += deltas.pieces(b"", final=True)
    assert "".join(told) == data.decode()


def test_what_is_no_text_is_replaced_and_deltas_are_bounded() -> None:
    """Beyond the bound the item at the end tells the rest."""
    deltas = Deltas(bytes_max=4, piece_bytes_max=8)
    assert "".join(deltas.pieces(b"\xff\xfeab") + deltas.pieces(b"cd")) == "\ufffd\ufffdab"


def test_the_model_reads_the_words_of_the_original() -> None:
    """Head lines, then the output, cut in its middle with a count of lines."""
    text = report("hello\n", seconds=0.0798, exit_code=0, session_id=7, tokens_max=100)
    head, output = text.split("\nOutput:\n")
    assert output == "hello\n" and head.splitlines()[1:] == [
        "Wall time: 0.0798 seconds", "Process exited with code 0", "Original token count: 2",
    ]  # fmt: skip
    running = report("", seconds=1, exit_code=None, session_id=7, tokens_max=100)
    assert "Process running with session ID 7" in running
    assert "(SIGKILL)" in report("", seconds=1, exit_code=137, session_id=7, tokens_max=1)
    long = cut_for_model("line\n" * 5_000, tokens_max=50)
    assert long.startswith("Total output lines: 5000\n\nline\n") and "tokens truncated" in long
    assert len(long) < 400


def test_a_denial_is_told_from_a_plain_failure() -> None:
    """By the words of the system, and never for a command that succeeded."""
    assert looks_denied(1, "touch: cannot touch 'x': Read-only file system")
    assert not looks_denied(0, "Permission denied")
    assert not looks_denied(1, "assertion failed")
    assert not looks_denied(127, "Permission denied")


async def test_what_comes_in_small_pieces_is_told_together_and_in_order() -> None:
    """The first at once, the rest when the pause is over or at the end, in bounded pieces."""
    heard: list[str] = []
    telling = Telling(
        Deltas(bytes_max=1_000, piece_bytes_max=100), heard.append, pause_s=60, piece_max=4
    )
    for letter in "abcdefghij":
        telling.add(letter.encode())
    assert heard == ["a"]
    telling.finish()
    assert heard == ["a", "bcde", "fghi", "j"]
