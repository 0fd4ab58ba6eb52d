"""The client library of providers, which is large: how it comes into a running server."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.requirement("FR-T21")
def test_a_provider_that_is_asked_for_its_models_first_is_loaded_off_the_loop() -> None:
    """Loading the client library takes a third of a second, in which nobody would be answered.

    Nor is it walked over for garbage, which would stop every thread as long.
    """
    program = (
        "import asyncio, gc, sys, threading\n"
        "from server.agent.limits import ModelLimits\n"
        "from server.agent.models.openai_responses import OpenAIResponses\n"
        "from server.settings import ProviderSettings\n"
        "from state.clock import SystemClock\n"
        "loaded = {}\n"
        "class Seen:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('openai', 'httpx2'):\n"
        "            loaded[name] = threading.current_thread() is threading.main_thread()\n"
        "sys.meta_path.insert(0, Seen())\n"
        "settings = ProviderSettings(\n"
        "    name='mock', base_url='http://127.0.0.1:9/v1', wire_api='responses')\n"
        "provider = OpenAIResponses(settings, clock=SystemClock(), limits=ModelLimits())\n"
        "walks = []\n"
        "gc.callbacks.append(lambda phase, info: walks.append(info['generation']))\n"
        "assert asyncio.run(provider.listed()) is None\n"
        "assert 2 not in walks and gc.isenabled() and gc.get_freeze_count() > 10_000, walks\n"
        "assert loaded == {'openai': False, 'httpx2': False}, loaded\n"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=60)
