"""How memoryd says that it gets its extras."""

from pathlib import Path

import server
from server.release import adding


def test_extras_come_from_the_source() -> None:
    """No registry has this package, so its bare name would bring in nothing or another one."""
    assert adding("mcp") == "`pip install '.[mcp]'` in the folder of memoryd's source"
    assert "--force-reinstall '.[semantic]'" in adding("semantic", anew=True)
    code = Path(server.__path__[0]).rglob("*.py")
    assert [path.name for path in code if "'memoryd[" in path.read_text("utf-8")] == []
