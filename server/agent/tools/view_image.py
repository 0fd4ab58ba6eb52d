"""Shows the model an image file of this machine."""

import asyncio
import base64
import json
import os
from collections.abc import Mapping
from typing import Any

from server.agent.tools.plain_file import NotPlain, read_plain
from server.agent.tools.stage import Stage, ToolCall, ToolResult

IMAGE_BYTES_MAX = 8 * 1_048_576
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class ViewImage:
    """The tool `view_image`."""

    name = "view_image"
    is_parallel = True
    seconds_max = 30

    @property
    def definition(self) -> Mapping[str, Any]:
        """A function of a path."""
        return {
            "type": "function",
            "name": self.name,
            "description": "Lets you see an image file (PNG, JPEG, GIF or WebP) of this machine.",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path of the image file."}
                },
                "required": ["path"],
                "additionalProperties": False,
            },
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Read the file and give it to the model."""
        try:
            given = json.loads(call.text or "{}")["path"]
            path, kind, data = await asyncio.to_thread(_read, stage.settings.cwd, given)
        except NotPlain as refused:
            return ToolResult(content=f"the image was not read: {refused}")
        except (ValueError, KeyError, TypeError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        except OSError as error:
            return ToolResult(content=f"the image was not read: {error.strerror or error}")
        item = stage.open("imageView", {"path": path})
        await item.complete({"path": path})
        url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
        return ToolResult(content=({"type": "input_image", "image_url": url},), is_fitted=True)


def _read(cwd: str, given: str) -> tuple[str, str, bytes]:
    """The real path of a file, the kind of image it is by its first bytes, and its content."""
    path = os.path.realpath(os.path.join(cwd, given))
    data, _ = read_plain(path, bytes_max=IMAGE_BYTES_MAX)
    for mark, kind in _KINDS:
        if data.startswith(mark):
            return path, kind, data
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return path, "image/webp", data
    raise NotPlain("it is no PNG, JPEG, GIF or WebP image")
