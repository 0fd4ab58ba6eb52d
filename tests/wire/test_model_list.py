"""The list of models: never empty, as the provider tells it, the one in use first."""

from pathlib import Path

import pytest

from tests.support.homes import provider_config, serving
from tests.support.responses_server import ResponsesServer


@pytest.mark.parametrize(
    ("listed", "shown"),
    [
        (None, ["mock-model"]),
        (["a", "mock-model", "b"], ["mock-model", "a", "b"]),
        (["a", "b"], ["mock-model", "a", "b"]),
    ],
)
async def test_the_model_in_use_is_listed_first_whatever_the_provider_lists(
    listed: list[str] | None, shown: list[str], tmp_path: Path
) -> None:
    """A terminal client that sees no model resumes no thread; the provider is asked once."""
    async with ResponsesServer() as model:
        model.models = listed
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            for _ in range(2):
                told = (await client.request("model/list", {"includeHidden": True}))["data"]
                assert [one["id"] for one in told] == shown
                assert [one["isDefault"] for one in told] == [True] + [False] * (len(shown) - 1)
                assert all(one["inputModalities"] == ["text", "image"] for one in told)
        assert model.model_lists == (listed is not None)


async def test_pictures_are_for_models_that_see_them(tmp_path: Path) -> None:
    """Clients leave a picture out for a model that takes words only; the offline rules do."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        [told] = (await client.request("model/list", {}))["data"]
        assert told["inputModalities"] == ["text"]
