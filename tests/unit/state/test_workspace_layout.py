"""Names of recaps, by the vectors of the original."""

import pytest

from state.ids import ThreadId
from state.workspace.layout import rfc3339, slug_of, summary_stem

ID = ThreadId("0194f5a6-89ab-7cde-8123-456789abcdef")


@pytest.mark.requirement("MW-8.3-stem")
def test_the_stem_has_the_time_of_the_id_and_four_characters_of_it() -> None:
    assert summary_stem(ID, 1_000, None) == "2025-02-11T15-35-19-jqmb"
    assert summary_stem(ID, 1_000, "") == "2025-02-11T15-35-19-jqmb"
    assert summary_stem(ID, 1_000, "///") == "2025-02-11T15-35-19-jqmb"


@pytest.mark.requirement("MW-8.3-stem")
def test_the_slug_is_safe_and_at_most_sixty_characters() -> None:
    slug = "Unsafe Slug/With Spaces & Symbols + EXTRA_LONG_12345_67890_ABCDE_fghij_klmno"
    safe = "unsafe_slug_with_spaces___symbols___extra_long_12345_67890_a"
    assert summary_stem(ID, 0, slug) == f"2025-02-11T15-35-19-jqmb-{safe}"
    assert len(safe) == 60


@pytest.mark.requirement("MW-8.3-stem")
@pytest.mark.parametrize(
    ("thread_id", "stamp"),
    [
        ("not a uuid", "1970-01-02T00-00-00"),
        ("11111111-2222-4333-8444-555555555555", "1970-01-02T00-00-00"),
        ("13814000-1dd2-11b2-8000-000000000000", "1970-01-01T00-00-00"),
        ("1b21dd21-3814-6000-8000-000000000000", "1970-01-01T00-00-00"),
    ],
)
def test_an_id_without_a_time_takes_the_time_of_the_source(thread_id: str, stamp: str) -> None:
    stem = summary_stem(ThreadId(thread_id), 86_400_999, None)
    assert stem.rpartition("-")[0] == stamp


def test_letters_beyond_ascii_become_underlines() -> None:
    assert slug_of("Über alles!") == "_ber_alles"


def test_times_are_written_with_their_offset() -> None:
    assert rfc3339(1_795_950_971_999) == "2026-11-29T11:16:11+00:00"
