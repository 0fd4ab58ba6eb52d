"""What most tests of consolidation begin with; a test file may have its own instead."""

from tests.support.empty_home import clock, live, state

__all__ = ["clock", "live", "state"]
