"""Thread ids in requests: taken in every spelling, refused with the sentence that clients know."""

import pytest

from protocol.errors import WireError
from server.handlers.identities import thread_id_of

ID = "01a228a9-3643-7e51-a1eb-e71498059b9f"


@pytest.mark.parametrize(
    "text", [ID, ID.upper(), ID.replace("-", ""), f"urn:uuid:{ID}", f"{{{ID}}}"]
)
def test_every_spelling_of_a_uuid_is_the_same_thread(text: str) -> None:
    """Clients of several languages write them differently."""
    assert thread_id_of(text) == ID


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "not-a-uuid",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by "
            "[0-9a-fA-F-], found `n` at 1",
        ),
        (
            "x",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by "
            "[0-9a-fA-F-], found `x` at 1",
        ),
        (
            "é",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by "
            "[0-9a-fA-F-], found `é` at 1",
        ),
        ("", "invalid length: expected length 32 for simple format, found 0"),
        ("abc", "invalid length: expected length 32 for simple format, found 3"),
        ("ab-cd", "invalid group count: expected 5, found 2"),
        (f"{ID}0", "invalid group length in group 4: expected 12, found 13"),
        (f"0{ID}", "invalid group length in group 0: expected 8, found 9"),
        ("../../etc/passwd", None),
        (ID.replace("-", "") + "-", None),
    ],
)
def test_what_is_no_uuid_is_refused(text: str, fault: str | None) -> None:
    """Never used as a name of anything."""
    with pytest.raises(WireError) as raised:
        thread_id_of(text)
    assert raised.value.code == -32600
    assert raised.value.message.startswith("invalid thread id: ")
    if fault is not None:
        assert raised.value.message == f"invalid thread id: {fault}"
