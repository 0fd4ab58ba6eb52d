"""The folder of an exported memory on the disk: written whole or not at all, read with distrust.

Invariant: nothing is followed out of the folder, no file of it is believed that its manifest does
not vouch for, and what is refused is refused whole, with the file named. Everything here blocks.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from state.errors import ExportRefused, HomeUnusable, PathRefused, WorkspaceUnsafe
from state.home import make_private_folder, sync_folder
from state.policy.export_form import (
    EXPORT_LIMITS,
    MANIFEST,
    ExportLimits,
    Manifest,
    ManifestFault,
    digest_of,
    parsed,
    rendered,
)
from state.policy.redaction import redact
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import FileContent, Snapshot, take_snapshot, write_snapshot
from state.workspace.trees import remove_tree, sync_tree

STRAYS_MAX = 100
"""Files of others beside those of the manifest, such as a page that a team wrote."""
NAME_CHARS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMemory:
    """An export that is what its manifest says."""

    manifest: Manifest
    files: Mapping[str, bytes]
    strays: tuple[str, ...]
    """Files in the folder that are not part of it."""


def write_export(
    folder: Path, manifest: Manifest, files: Mapping[str, bytes], *, forbidden: Path
) -> None:
    """Make the folder, which must be absent or empty and not below `forbidden`.

    Raises: ExportRefused.
    """
    _check_target(folder, forbidden)
    manifest = replace(manifest, digests={path: digest_of(data) for path, data in files.items()})
    sizes = {path: len(data) for path, data in files.items()}
    whole = {MANIFEST: rendered(manifest, sizes), **files}
    partial = folder.with_name(f".{folder.name[:NAME_CHARS_MAX]}.{secrets.token_hex(4)}.part")
    try:
        if not folder.parent.exists():
            make_private_folder(folder.parent)
        snapshot = Snapshot(files={path: FileContent(data=data) for path, data in whole.items()})
        write_snapshot(snapshot, partial)
        sync_tree(partial)
        partial.rename(folder)
        sync_folder(folder.parent)
    except HomeUnusable as error:
        raise ExportRefused(folder, "", error.reason) from error
    except OSError as error:
        raise ExportRefused(folder, "", error.strerror or "it cannot be written") from error
    finally:
        remove_tree(partial)


def read_export(folder: Path, limits: ExportLimits = EXPORT_LIMITS) -> ExportedMemory:
    """Everything in the folder that its manifest vouches for.

    Raises: ExportRefused.
    """
    manifest = _manifest(folder, limits)
    try:
        found = take_snapshot(
            folder,
            files_max=len(manifest.digests) + STRAYS_MAX,
            bytes_max=limits.bytes_max + limits.manifest_bytes_max,
            inbox=None,
        )
    except WorkspaceUnsafe as error:
        raise ExportRefused(folder, "", error.reason) from error
    except OSError as error:
        raise ExportRefused(folder, "", error.strerror or "it cannot be read") from error
    if found.odd:
        odd = _shown(found.odd[0])
        raise ExportRefused(folder, odd, "it is a link, no file or cannot be read")
    files: dict[str, bytes] = {}
    for path, digest in manifest.digests.items():
        file = found.files.get(path)
        if file is None:
            raise ExportRefused(folder, path, "the manifest names it and it is not there")
        if digest_of(file.data) != digest:
            raise ExportRefused(folder, path, "it is not what the manifest says (digest differs)")
        if not _is_text(file.data):
            raise ExportRefused(folder, path, "it is no UTF-8 text")
        files[path] = file.data
    strays = tuple(path for path in found.files if path not in files and path != MANIFEST)
    return ExportedMemory(manifest=manifest, files=files, strays=strays)


def export_origin(keys: Path) -> str:
    """The name under which this home exports, made at the first time.

    Raises: ExportRefused.
    """
    path = keys / "export_origin"
    for _ in range(2):
        try:
            return _origin_in(path)
        except FileNotFoundError:
            _make_origin(path)
        except (ValueError, OSError) as error:
            raise ExportRefused(keys, path.name, "it is not what memoryd wrote there") from error
    raise ExportRefused(keys, path.name, "it cannot be written")


def _origin_in(path: Path) -> str:
    """The name that a file holds.

    Raises: FileNotFoundError, OSError, ValueError.
    """
    text = path.read_bytes()[:64].decode("ascii").strip()
    if len(bytes.fromhex(text)) != 8 or text != text.lower():
        raise ValueError(path.name)
    return text


def _make_origin(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return  # another request was first
    except OSError as error:
        raise ExportRefused(path.parent, path.name, error.strerror or "not writable") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(8) + "\n")
        file.flush()
        os.fsync(descriptor)


def _check_target(folder: Path, forbidden: Path) -> None:
    try:
        if folder.is_symlink():
            raise ExportRefused(folder, "", "it is a link")
        if folder.exists():
            if not folder.is_dir():
                raise ExportRefused(folder, "", "it is not a folder")
            if any(folder.iterdir()):
                raise ExportRefused(folder, "", "it is not empty; name a new folder")
        if folder.resolve().is_relative_to(forbidden.resolve()):
            raise ExportRefused(folder, "", "it lies in the home of memoryd; name another place")
    except (OSError, RuntimeError, ValueError) as error:
        raise ExportRefused(folder, "", "it cannot be a folder") from error


def _manifest(folder: Path, limits: ExportLimits) -> Manifest:
    try:
        data = ConfinedRoot(folder).read_bytes(MANIFEST, bytes_max=limits.manifest_bytes_max)
        return parsed(data, limits)
    except ManifestFault as fault:
        raise ExportRefused(folder, MANIFEST, str(fault)) from fault
    except PathRefused as refusal:
        raise ExportRefused(folder, MANIFEST, str(refusal)) from refusal
    except OSError as error:
        raise ExportRefused(folder, MANIFEST, error.strerror or "it cannot be read") from error


def _shown(path: str) -> str:
    """A name that somebody else gave, as an error may carry it."""
    return redact(os.fsencode(path).decode(errors="replace"))[:NAME_CHARS_MAX]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
