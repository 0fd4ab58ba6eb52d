"""Shows the model an image file of this machine."""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from server.agent.image_file import read_image
from server.agent.plain_file import NotPlain
from server.agent.sandbox.policy import Places, policy_of
from server.agent.tools.kept_places import NO_PLACES, is_hidden
from server.agent.tools.stage import Stage, ToolCall, ToolResult

IMAGE_BYTES_MAX = 8 * 1_048_576


class ViewImage:
    """The tool `view_image`."""

    name = "view_image"
    is_parallel = True
    seconds_max = 30

    def __init__(self, places: Places = NO_PLACES) -> None:
        self._places = places

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
            named = os.path.join(stage.settings.cwd, given)
            path, url = await asyncio.to_thread(read_image, named, bytes_max=IMAGE_BYTES_MAX)
            settings = stage.settings
            policy = policy_of(settings.sandbox_policy, settings.workspace_roots)
            if is_hidden(path, policy, settings.cwd, self._places):
                return ToolResult(content="the image was not read: agents may not see its folder")
        except NotPlain as refused:
            return ToolResult(content=f"the image was not read: {refused}")
        except (ValueError, KeyError, TypeError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        except OSError as error:
            return ToolResult(content=f"the image was not read: {error.strerror or error}")
        item = stage.open("imageView", {"path": path})
        await item.complete({"path": path})
        return ToolResult(content=({"type": "input_image", "image_url": url},), is_fitted=True)
