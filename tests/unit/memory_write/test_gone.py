"""What is remembered of inputs that went: the latest of it, however much went in all."""

from memory_write.phase2.evidence import SENTENCES_MAX, WORDS_MAX, Evidence, Trace, trace_of
from memory_write.phase2.sources import Withdrawn
from memory_write.phase2.withdraw import THREADS_MAX, Gone
from state.ids import ThreadId


def _words(first: int, count: int) -> Trace:
    marks = frozenset(number.to_bytes(8) for number in range(first, first + count))
    return Trace(words=marks, sentences=tuple(frozenset({one}) for one in sorted(marks)[:9]))


def test_marks_of_words_and_sentences_are_bounded_and_the_latest_stay() -> None:
    known = Trace()
    for number in range(30):
        known = _words(number * WORDS_MAX, WORDS_MAX // 10).joined(known)
        assert len(known.words) <= WORDS_MAX and len(known.sentences) <= SENTENCES_MAX
    latest = _words(29 * WORDS_MAX, WORDS_MAX // 10)
    assert len(known.words) == WORDS_MAX and latest.words <= known.words
    assert not Evidence(trace_of(["walrus"]).joined(known), ()).is_supported("walrus")


def test_threads_that_went_are_bounded_and_the_latest_stay() -> None:
    known: Gone | None = None
    for number in range(30):
        ids = frozenset(ThreadId(f"{number}/{one}") for one in range(THREADS_MAX // 10))
        known = Gone(threads=Withdrawn(ids), trace=Trace()).joined(known)
        assert ids <= known.threads.thread_ids
    assert known is not None and len(known.threads.thread_ids) == THREADS_MAX
