"""The durable steps of a consolidation, by the names that fault points see.

Invariant: each name is announced exactly where it stands in this order; a crash at any of them
leaves the published memory as it was before the swap, or as it is after it.
"""

CLAIMED = "phase2/claimed"
BASELINED = "phase2/baselined"
STAGED = "phase2/staged"
SYNCED = "phase2/synced"
CONSOLIDATING = "phase2/consolidating"
CONSOLIDATED = "phase2/consolidated"
VERIFIED = "phase2/verified"
COMMITTED = "phase2/committed"
INTENDED = "phase2/intended"
SWAPPING = "phase2/swapping"
SWAPPED = "phase2/swapped"
MARKING = "phase2/marking"
MARKED = "phase2/marked"
CLEANED = "phase2/cleaned"

PHASE2_STEPS = (
    CLAIMED,
    BASELINED,
    STAGED,
    SYNCED,
    CONSOLIDATING,
    CONSOLIDATED,
    VERIFIED,
    COMMITTED,
    INTENDED,
    SWAPPING,
    SWAPPED,
    MARKING,
    MARKED,
    CLEANED,
)
