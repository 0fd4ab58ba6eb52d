"""The version of this memoryd, which the build reads from here, and how it gets its extras."""

__version__ = "0.1.0"


def adding(extra: str, *, anew: bool = False) -> str:
    """The command that adds an extra: from the source, as memoryd itself was installed.

    By its bare name pip would ask a registry, which has another package of that name or none.
    """
    words = "pip install --force-reinstall" if anew else "pip install"
    return f"`{words} '.[{extra}]'` in the folder of memoryd's source"
