"""The tool `exec_command`: a shell line in the thread's sandbox, after approval where needed."""

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from server.agent.approvals import (
    Ask,
    CommandFacts,
    Need,
    Refuse,
    Run,
    command_key,
    command_need,
    policy_of,
    proposed_prefix,
)
from server.agent.command_rules import CommandRules
from server.agent.sandbox.sandbox import CannotRun, Ready
from server.agent.tools.apply_patch import patch_in_command, run_patch
from server.agent.tools.commands import (
    actions,
    destroys_much,
    only_looks,
    segments,
    takes_lines,
)
from server.agent.tools.output import clamped
from server.agent.tools.processes import Process
from server.agent.tools.shell_arguments import (
    function,
    nonempty,
    number_field,
    numeral,
    text_field,
    tokens_of,
    words_of,
)
from server.agent.tools.shell_run import (
    Asked,
    ShellParts,
    ended_body,
    item_body,
    reported,
    sandbox_of,
    start,
    waited,
)
from server.agent.tools.shell_text import looks_denied
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    CommandQuestion,
    Decision,
    Declined,
    OpenItem,
    Stage,
    ToolCall,
    ToolResult,
)
from server.agent.tools.terminals import Terminal
from state.errors import StateError

log = logging.getLogger(__name__)

STARTUP, AGENT = "unifiedExecStartup", "agent"
_ESCALATIONS = ("require_escalated", "with_escalated_permissions")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCall:
    """The arguments of `exec_command`, read."""

    asked: Asked
    is_escalated: bool
    justification: str | None
    prefix_rule: tuple[str, ...] | None
    yield_ms: int
    tokens_max: int


class ExecCommand:
    """The tool `exec_command`."""

    name = "exec_command"
    is_parallel = True
    seconds_max = None

    def __init__(self, parts: ShellParts, rules: CommandRules | None) -> None:
        self._parts = parts
        self._rules = rules

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the original offers it."""
        return function(
            self.name,
            "Runs a command in a PTY, returning output or a session ID for ongoing interaction.",
            {
                "cmd": text_field("Shell command to execute."),
                "justification": text_field(
                    "User-facing approval question for `require_escalated`; omit otherwise."
                ),
                "login": {
                    "type": "boolean",
                    "description": "Request login-shell startup. Omit to inherit.",
                },
                "max_output_tokens": number_field("Output token budget. Defaults to 10000 tokens."),
                "prefix_rule": {
                    "type": "array",
                    "description": "Reusable approval prefix for `cmd`, only with "
                    '`require_escalated`; for example ["git", "pull"].',
                    "items": {"type": "string"},
                },
                "sandbox_permissions": {
                    "type": "string",
                    "description": "Defaults to `use_default`; use `require_escalated` for "
                    "unsandboxed execution.",
                    "enum": ["use_default", "require_escalated"],
                },
                "shell": text_field(
                    "Shell binary to launch. Defaults to the user's default shell."
                ),
                "tty": {
                    "type": "boolean",
                    "description": "True allocates a PTY for the command; false or omitted uses "
                    "plain pipes.",
                },
                "workdir": text_field("Working directory. Defaults to the turn cwd."),
                "yield_time_ms": number_field(
                    "Wait before yielding output. Defaults to 10000 ms; effective range is "
                    "250-30000 ms."
                ),
            },
            required=("cmd",),
        )

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Run it, after approval where the policy asks for it."""
        try:
            given = self._read(json.loads(call.text or "{}"), stage)
        except (ValueError, TypeError, KeyError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        patch = patch_in_command(given.asked.text)
        if patch is not None:
            folder = PurePosixPath(given.asked.cwd, patch[1] or "")
            sandbox = self._parts.sandbox
            return await run_patch(
                patch[0], stage, cwd=str(folder), places=sandbox.places, roots=sandbox.roots
            )
        need, facts = await self._need(given, stage)
        match need:
            case Refuse(message=message):
                return ToolResult(content=message)
            case Run(is_sandboxed=is_sandboxed):
                return await self._run(given, stage, None, is_sandboxed=is_sandboxed)
            case Ask():
                return await self._ask(given, need, facts, stage)

    def _read(self, given: Any, stage: Stage) -> ShellCall:
        limits = self._parts.limits
        if not isinstance(given, dict):
            raise ValueError("they must be an object")
        text = given.get("cmd")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("missing field `cmd`")
        if len(text) > limits.command_characters_max or "\0" in text:
            raise ValueError("`cmd` is too long or holds a null character")
        shell = given.get("shell") or self._parts.shell
        flag = "-c" if given.get("login") is False else "-lc"
        workdir = given.get("workdir") or ""
        permissions = given.get("sandbox_permissions")
        rule = given.get("prefix_rule")
        return ShellCall(
            asked=Asked(
                argv=(str(shell), flag, text),
                text=text,
                cwd=os.path.normpath(os.path.join(stage.settings.cwd, str(workdir))),
                root=stage.settings.cwd,
                tty=given.get("tty") is True,
            ),
            is_escalated=permissions in _ESCALATIONS
            or given.get("with_escalated_permissions") is True,
            justification=nonempty(given.get("justification")),
            prefix_rule=words_of(rule),
            yield_ms=clamped(
                numeral(given.get("yield_time_ms")),
                default=limits.yield_ms_default,
                lowest=limits.yield_ms_min,
                highest=limits.yield_ms_max,
            ),
            tokens_max=tokens_of(given, self._parts.limits),
        )

    async def _need(self, given: ShellCall, stage: Stage) -> tuple[Need, CommandFacts]:
        asked, settings = given.asked, stage.settings
        parts = segments(asked.text) if takes_lines(asked.argv[0]) else None
        rules = {} if self._rules is None else await self._rules.current()
        facts = CommandFacts(
            key=command_key(asked.argv, cwd=asked.cwd, is_escalated=given.is_escalated),
            segments=parts,
            is_known_safe=parts is not None and all(map(only_looks, parts)),
            is_dangerous=parts is not None and any(map(destroys_much, parts)),
            is_escalated=given.is_escalated,
            can_be_confined=isinstance(await self._parts.sandbox.status(), Ready),
        )
        need = command_need(
            facts,
            approval_policy=settings.approval_policy,
            sandbox_policy=settings.sandbox_policy,
            grants=stage.grants,
            rules=rules,
        )
        return need, facts

    async def _ask(
        self, given: ShellCall, need: Ask, facts: CommandFacts, stage: Stage
    ) -> ToolResult:
        body = item_body(given.asked, source=AGENT)
        item = stage.open("commandExecution", body, asking=True)
        reason = given.justification or need.reason
        decision = await self._question(given, facts, item, stage, reason)
        denied = _denied(decision)
        if denied is not None:
            await item.complete({**body, "status": denied[0]})
            return ToolResult(content=denied[1])
        return await self._run(given, stage, item, is_sandboxed=need.is_sandboxed)

    async def _question(
        self,
        given: ShellCall,
        facts: CommandFacts | None,
        item: OpenItem,
        stage: Stage,
        reason: str | None,
    ) -> Decision:
        asked, prefix = given.asked, given.prefix_rule
        if facts is not None and prefix is None:
            safe = [only_looks(words) for words in facts.segments or ()]
            rules = {} if self._rules is None else await self._rules.current()
            prefix = proposed_prefix(facts.segments, safe=safe, rules=rules)
        return await stage.ask_command(
            item,
            CommandQuestion(
                command=asked.shown,
                cwd=asked.cwd,
                command_actions=actions(asked.text, asked.cwd),
                reason=reason,
                proposed_prefix=prefix,
                grant_key=None if facts is None else facts.key,
            ),
        )

    async def _run(
        self, given: ShellCall, stage: Stage, item: OpenItem | None, *, is_sandboxed: bool
    ) -> ToolResult:
        parts, asked = self._parts, given.asked
        policy = sandbox_of(stage.settings, is_sandboxed=is_sandboxed)
        terminal = parts.terminals.make(
            stage.thread_id, item_id="", command=asked.shown, cwd=asked.cwd,
            now_ms=parts.clock.now_ms(),
        )  # fmt: skip
        early: list[str] = []
        told: list[OpenItem] = [] if item is None else [item]

        def tell(piece: str) -> None:
            if told:
                told[0].delta(piece)
            else:
                early.append(piece)  # its item is opened in a moment

        process = await start(parts, asked, terminal, policy, tell)
        if isinstance(process, CannotRun):
            if item is not None:
                await item.complete(item_body(asked, source=AGENT, status="failed"))
            return ToolResult(content=f"exec_command failed: {process.reason}")
        try:
            if item is None:
                number = str(terminal.session_id)
                body = item_body(asked, source=STARTUP, process_id=number)
                item = stage.open("commandExecution", body)
                told.append(item)
                for piece in early:
                    item.delta(piece)
            terminal.item_id = item.item_id
            has_ended = await waited(process, milliseconds=given.yield_ms)
        except asyncio.CancelledError:
            await process.killed()
            if item is not None:
                await item.complete(self._ended(asked, terminal))
            raise
        if not has_ended:
            told[:] = [self._keep(asked, terminal, item, stage)]
            return self._report(given, terminal)
        return await self._finished(given, terminal, item, stage, is_confined=process)

    async def _finished(
        self,
        given: ShellCall,
        terminal: Terminal,
        item: OpenItem,
        stage: Stage,
        *,
        is_confined: Process,
    ) -> ToolResult:
        code, output = terminal.exit_code or 0, terminal.kept.text()
        denied = is_confined.confined_by is not None and looks_denied(code, output)
        if denied and _may_ask(stage.settings.approval_policy):
            item.update(self._ended(given.asked, terminal))
            reason = "the command failed, probably because of its sandbox; run it without?"
            decision = await self._question(given, None, item, stage, reason)
            if isinstance(decision, Accepted):
                return await self._run(given, stage, item, is_sandboxed=False)
        await item.complete(self._ended(given.asked, terminal))
        return self._report(given, terminal)

    def _ended(self, asked: Asked, terminal: Terminal) -> dict[str, Any]:
        return ended_body(asked, terminal, source=STARTUP, now_ms=self._parts.clock.now_ms())

    def _keep(self, asked: Asked, terminal: Terminal, item: OpenItem, stage: Stage) -> OpenItem:
        """Let it run on; its item goes on being told, and is completed when it ends."""
        process = terminal.process
        assert process is not None
        kept = stage.keep(item)
        terminal.wrote = lambda text: kept.wrote(text, process_id=str(terminal.session_id))

        async def completed() -> None:
            await process.ended.wait()
            terminal.arrived.set()
            try:
                await kept.complete(self._ended(asked, terminal))
            except (OSError, StateError) as error:
                log.error("the end of a command of thread %s: %s", terminal.thread_id, error)

        self._parts.terminals.hold(terminal)
        self._parts.terminals.watch(terminal, asyncio.create_task(completed(), name="terminal"))
        return kept

    def _report(self, given: ShellCall, terminal: Terminal) -> ToolResult:
        return reported(terminal, self._parts, tokens_max=given.tokens_max)


def _may_ask(approval_policy: Any) -> bool:
    policy = policy_of(approval_policy)
    return policy.asks and policy.sandbox_approval


def _denied(decision: Decision) -> tuple[str, str] | None:
    """The item's status and the words for the model where the answer is no."""
    match decision:
        case Accepted():
            return None
        case Declined(reason="declined"):
            return "declined", "exec_command failed: the user declined the command; it was not run"
        case Declined():
            return "declined", "exec_command failed: nobody answered whether it may run"
        case Cancelled():
            return "declined", "exec_command failed: the user declined it and stopped the turn"
        case AskFailed(message=message):
            return "failed", f"exec_command failed: the approval request failed: {message}"
