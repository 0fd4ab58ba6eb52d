"""Every bound of learning as a value; the settings fill them, nothing here has a second home.

Values of the original are named in `product.md` and `memory-write.md` section 2.4.
"""

from dataclasses import dataclass, replace

ATTEMPTS_MAX = 3
LEASE_S = 90
HEARTBEAT_S = 15
RETRY_DELAY_S = 3_600
TRANSIENT_RETRY_FIRST_S = 60
TRANSIENT_RETRY_MAX_S = 3_600
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase1Limits:
    """Bounds of extraction."""

    claims_per_wake_max: int = 2
    concurrent_max: int = 8
    scan_max: int = 5_000
    age_days_max: int = 10
    idle_hours_min: int = 6
    window_tokens_default: int = 150_000
    window_share_percent: int = 70
    reply_bytes_max: int = 1_000_000
    lease_s: int = LEASE_S
    heartbeat_s: int = HEARTBEAT_S
    retry_delay_s: int = RETRY_DELAY_S
    prune_rows_max: int = 200
    call_seconds_max: int = 600
    parts_max: int = 16
    """Calls for one session of which even what was said is more than a window."""
    job_days_max: int = 365
    jobs_pruned_max: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase2Limits:
    """Bounds of consolidation."""

    outputs_max: int = 256
    unused_days_max: int = 30
    turns_max: int = 60
    tokens_max: int = 1_500_000
    tokens_base: int = 200_000
    """What a run may spend however little is new."""
    tokens_per_new: int = 100
    """What it may spend besides, for each token of what is new."""
    seconds_max: int = 1_200
    cooldown_s: int = 6 * 3_600
    lease_s: int = LEASE_S
    heartbeat_s: int = HEARTBEAT_S
    retry_delay_s: int = RETRY_DELAY_S
    diff_bytes_max: int = 4_194_304
    folder_bytes_max: int = 64 * 1_048_576
    folder_files_max: int = 10_000
    file_bytes_max: int = 4 * 1_048_576
    share_removed_percent_max: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyBudget:
    """Model tokens that background work may spend in a day of UTC; None is no limit."""

    extraction_tokens: int | None = None
    consolidation_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """What the settings say about learning."""

    enabled: bool = True
    version: str = "v1"
    dual_write: tuple[str, ...] = ()
    generate: bool = True
    extract_model: str | None = None
    consolidation_model: str | None = None
    consolidation_service_tier: str | None = None
    phase1: Phase1Limits = Phase1Limits()
    phase2: Phase2Limits = Phase2Limits()
    budget: DailyBudget = DailyBudget()
    scheduler_interval_s: int = 300

    @property
    def versions(self) -> tuple[str, ...]:
        """Every version that is written, the one that is read first."""
        return tuple(dict.fromkeys((self.version, *self.dual_write)))

    def of_version(self, version: str) -> "MemorySettings":
        """The same for one of the versions alone."""
        return replace(self, version=version, dual_write=())
