"""The rate-limit guard at its boundary, by either window, over a real server's headers."""

from collections.abc import AsyncIterator

import pytest

from memory_write.ports import ExtractionRequest
from server.agent.background import BackgroundModels
from server.agent.background_quota import ProviderQuota
from server.agent.limits import BackgroundLimits, ModelLimits, RetryLimits
from server.agent.providers import Providers
from server.settings import ProviderSettings
from state.clock import SystemClock
from tests.support.responses_server import ResponsesServer, says
from tests.support.transcripts import extraction_request, typed

ONCE = RetryLimits(attempts_max=1)
LIMITS = BackgroundLimits(retry=ONCE, remaining_percent_min=25)
REQUEST: ExtractionRequest = extraction_request(typed("I prefer small commits."))


@pytest.fixture
async def model() -> AsyncIterator[ResponsesServer]:
    """A provider that tells its limits by headers."""
    async with ResponsesServer() as server:
        yield server


@pytest.fixture
async def providers(model: ResponsesServer) -> AsyncIterator[Providers]:
    """The one provider."""
    settings = ProviderSettings(name="mock", base_url=model.base_url, wire_api="responses")
    made = Providers(
        {"mock": settings}, default="mock", clock=SystemClock(), limits=ModelLimits(retry=ONCE)
    )
    yield made
    await made.close()


async def refused(model: ResponsesServer, providers: Providers, **used: int) -> bool:
    """Whether learning waits after these headers."""
    headers = {f"x-codex-{name}-used-percent": str(value) for name, value in used.items()}
    headers |= {f"x-codex-{name}-reset-after-seconds": "600" for name in used}
    model.script(says("{}", headers=headers))
    models = BackgroundModels(providers, clock=SystemClock(), limits=LIMITS)
    await models.extraction(None).extract(REQUEST)
    quota = ProviderQuota(providers, clock=SystemClock(), limits=LIMITS)
    return await quota.refusal() is not None


@pytest.mark.requirement("MW-8.3-guard")
@pytest.mark.parametrize(
    ("primary", "secondary", "waits"),
    [
        (75, 10, False),
        (10, 75, False),
        (76, 10, True),
        (10, 76, True),
        (100, 0, True),
        (0, 0, False),
    ],
)
async def test_either_window_refuses_above_its_share_and_not_at_it(
    model: ResponsesServer, providers: Providers, primary: int, secondary: int, waits: bool
) -> None:
    """With 25 percent required, 75 used passes and 76 does not, whichever window it is."""
    assert await refused(model, providers, primary=primary, secondary=secondary) is waits


@pytest.mark.requirement("MW-8.3-guard")
async def test_a_provider_that_tells_nothing_sets_no_limit(
    model: ResponsesServer, providers: Providers
) -> None:
    """The guard fails open."""
    assert not await refused(model, providers)
