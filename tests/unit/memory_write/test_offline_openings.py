"""What opens a session is about its task: only what says that it lasts is kept of it."""

# ruff: noqa: RUF001  marks of other scripts are meant

import pytest

from memory_write.offline.heard import listen
from tests.support.transcripts import typed

PASSING = (
    "The uploader stalls at 99% and never comes back.",
    "The response must contain a next link.",
    "Don't touch the parser yet, first tell me what you would do.",
    "Der Upload bleibt immer bei 99 % hängen.",
    "Er darf nichts in der Zukunft annehmen.",
    "L'envoi se bloque à 99 % et ne revient jamais.",
    "Le mode enfant doit cacher tous les prix.",
    "La subida se queda en el 99 % y nunca vuelve.",
    "El modo infantil debe ocultar todos los precios.",
    "上传到 99% 就卡住，再也不动了。",
    "旧配置必须还能加载。",
)
LASTING = (
    "We use click for every command, never argparse.",
    "Redis stays, we know how to run it.",
    "Wir nutzen für alle Befehle click, nie argparse.",
    "On utilise click pour toutes les commandes, jamais argparse.",
    "Usamos click para todos los comandos, nunca argparse.",
    "我们所有命令都用 click，不用 argparse。",
)


def _kept(text: str) -> list[str]:
    return [one.text for one in listen(typed(text)).entries]


@pytest.mark.parametrize("text", PASSING)
def test_what_is_wanted_or_wrong_now_leaves_nothing(text: str) -> None:
    """A symptom, a specification and a bound are this task's, however often they say always."""
    assert _kept(text) == []


@pytest.mark.parametrize("text", LASTING)
def test_what_lasts_is_kept_of_an_opening(text: str) -> None:
    """A convention stays one where it is told with the task."""
    assert len(_kept(text)) == 1
