"""From a working directory to the one canonical key of its project.

Invariant: root, subfolder, link, trailing slash, worktree and second clone of one repository give
the same key; nothing is run and nothing outside git's own small files is read.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_FILE_BYTES_MAX = 65_536
_CLONES_OF_CLONES_MAX = 4
_SECTION = re.compile(r'^\s*\[\s*([^\s"\]]+)\s*(?:"([^"]*)")?\s*\]')
_URL = re.compile(r'^\s*url\s*=\s*"?([^"\r\n]*?)"?\s*$', re.IGNORECASE)
_SCP_LIKE = re.compile(r"^(?:[^@/:\s]+@)?([^/:\s]+):(?!//)(.+)$")


@dataclass(frozen=True, slots=True)
class Project:
    """What memory of a project is filed under."""

    key: str
    root: Path
    """The folder of the repository this working directory lies in, or the directory itself."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The git repository that a working directory lies in."""

    root: Path
    """The folder that is checked out."""
    own: Path
    """Where git keeps what is this worktree's alone, such as HEAD."""
    common: Path
    """Where objects and branches are."""


def repository_of(cwd: str) -> Repository | None:
    """The repository around a working directory; None where there is none."""
    folder = Path(cwd).resolve()
    for candidate in (folder, *folder.parents):
        git = candidate / ".git"
        common = _common_folder(git)
        if common is not None:
            own = git if git.is_dir() else _pointed_to(git)
            return Repository(candidate, own.resolve() if own else common, common)
    return None


def project_of(cwd: str, *, origin_url: str | None = None) -> Project:
    """The project of a working directory.

    `origin_url` is what was recorded of a directory that may be gone since.
    """
    folder = Path(cwd).resolve()
    for candidate in (folder, *folder.parents):
        git = candidate / ".git"
        common = _common_folder(git)
        if common is not None:
            return Project(_repository_key(candidate, common), candidate)
    recorded = _url_key(origin_url) if origin_url else None
    return Project(recorded or f"path:{folder}", folder)


def _repository_key(root: Path, common: Path) -> str:
    for _ in range(_CLONES_OF_CLONES_MAX):
        url = _origin_url(common)
        if url is None:
            break
        key = _url_key(url)
        if key is not None:
            return key
        # A clone of a folder on this machine belongs to what that folder belongs to.
        source = (root / url.removeprefix("file://")).resolve()
        source_common = _common_folder(source / ".git") or _bare(source)
        if source_common is None or source_common == common:
            break
        root, common = source, source_common
    # The main worktree, from wherever it was found; submodules have a folder of their own.
    return f"path:{common.parent if common.name == '.git' else root}"


def _common_folder(git: Path) -> Path | None:
    """The repository behind a `.git`: itself, or that of the main worktree it points to."""
    if git.is_dir():
        return git.resolve() if (git / "HEAD").is_file() else None
    own = _pointed_to(git)
    if own is None or not (own / "HEAD").is_file():
        return None
    common = _first_line(own / "commondir")
    return (own / common).resolve() if common else own


def _pointed_to(git: Path) -> Path | None:
    """The folder that a `.git` file of a worktree names."""
    pointer = _first_line(git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    return (git.parent / pointer.removeprefix("gitdir:").strip()).resolve()


def _bare(folder: Path) -> Path | None:
    return folder if (folder / "HEAD").is_file() and (folder / "objects").is_dir() else None


def _origin_url(common: Path) -> str | None:
    section: tuple[str, str | None] | None = None
    for line in (_text(common / "config") or "").splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = (heading[1].lower(), heading[2])
        elif section == ("remote", "origin") and (url := _URL.match(line)):
            return url[1] or None
    return None


def _url_key(url: str) -> str | None:
    """One key for all spellings of a remote address; None for a path on this machine."""
    scp = _SCP_LIKE.match(url)
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        host, path = parts.hostname or "", parts.path
    elif scp and len(scp[1]) > 1:
        host, path = scp[1], scp[2]
    else:
        return None
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"git:{host.lower()}/{path}" if host and path else None


def _first_line(path: Path) -> str | None:
    text = _text(path)
    return text.split("\n", 1)[0].strip() if text else None


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _FILE_BYTES_MAX:
            return None
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return None
