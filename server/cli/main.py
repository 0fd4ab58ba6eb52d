"""The command line: what each command is called and takes; the work is in the other modules.

Nothing heavy is imported here: a relaying `app-server` must be up within a tenth of a second.
"""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence

from server.cli.given import USAGE
from server.errors import ServerError
from server.release import __version__
from state.errors import StateError

_EPILOG = """\
examples:
  memoryd demo                     see the main job in a throw-away home
  memoryd import codex             bring in your existing Codex sessions
  memoryd consolidate --wait       turn finished sessions into memory now
  memoryd remember "use tabs"      keep a note, in force at once
  memoryd chat "how do I test?"    ask, with memory
  memoryd serve                    the server for IDEs, on ws://127.0.0.1:4500
  memoryd doctor                   check every part, with a hint for each fault

The home is $MEMORYD_HOME, else ~/.memoryd. Settings live in its config.toml.
"""


# Loading modules makes many objects and no garbage: with the interpreter's own threshold of 700
# looking for it takes a tenth of the start. A server sets its own once it has started.
_GARBAGE_THRESHOLD = 500_000


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    top = parser()
    arguments = top.parse_args(argv)
    if arguments.command is None:
        top.print_help(sys.stderr)
        return USAGE
    arguments.overrides = [*arguments.overrides_before, *arguments.overrides_after]
    run = importlib.import_module(f"server.cli.{arguments.module}").run
    try:
        status = int(run(arguments))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _nobody_reads()
    except (ServerError, StateError) as failure:
        if arguments.debug:
            raise
        print(f"memoryd: {failure}", file=sys.stderr)
        return getattr(failure, "status", 1)


def _nobody_reads() -> int:
    """Whoever read our output has enough, as `head` does: no word about it, no second try."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def parser() -> argparse.ArgumentParser:
    """The whole command line as argparse sees it."""
    top = argparse.ArgumentParser(
        prog="memoryd",
        description="A server that gives coding agents a memory their user can trust.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"memoryd {__version__}")
    _shared(top, at_the_top=True)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    _serving(commands)
    _using(commands)
    _noting(commands)
    _keeping(commands)
    _carrying(commands)
    _pausing(commands)
    return top


Commands = argparse._SubParsersAction  # the only name argparse has for it


def _command(
    commands: "Commands[argparse.ArgumentParser]", name: str, module: str, does: str, more: str = ""
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}. {more}".strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(module=module, command=name)
    _shared(command, at_the_top=False)
    return command


def _shared(command: argparse.ArgumentParser, *, at_the_top: bool) -> None:
    """Options that clients put before or behind the command's name."""

    def default(value: object) -> object:
        return value if at_the_top else argparse.SUPPRESS

    where = "before" if at_the_top else "after"
    command.add_argument("--home", metavar="DIR", default=default(None), help="the home to use")
    command.add_argument(
        "-c",
        "--config",
        metavar="KEY=VALUE",
        dest=f"overrides_{where}",
        action="append",
        default=[],
        help="override a setting, e.g. -c memories.min_rollout_idle_hours=1",
    )
    for flag, value in (("--enable", "true"), ("--disable", "false")):
        command.add_argument(
            flag,
            metavar="FEATURE",
            dest=f"overrides_{where}",
            action="append",
            type=f"features.{{}}={value}".format,
            help=argparse.SUPPRESS,
        )
    command.add_argument(
        "--debug", action="store_true", default=default(False), help="tracebacks and full logs"
    )


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object instead")


def _access(command: argparse.ArgumentParser) -> None:
    access = command.add_argument_group("access over WebSocket")
    access.add_argument(
        "--ws-auth",
        choices=["none", "capability-token", "signed-bearer-token"],
        help="who may attach; default: whoever carries <home>/keys/access (loopback only)",
    )
    access.add_argument("--ws-token-file", metavar="FILE", help="capability token, by file")
    access.add_argument("--ws-token-sha256", metavar="HEX", help="capability token, by digest")
    access.add_argument("--ws-shared-secret-file", metavar="FILE", help="secret of signed tokens")
    access.add_argument("--ws-issuer", metavar="TEXT", help="`iss` a signed token must have")
    access.add_argument("--ws-audience", metavar="TEXT", help="`aud` a signed token must have")
    access.add_argument("--ws-max-clock-skew-seconds", metavar="N", type=int)


def _serving(commands: "Commands[argparse.ArgumentParser]") -> None:
    serve = _command(
        commands,
        "serve",
        "serve",
        "run the server for IDEs and other clients",
        "Stops on Ctrl-C after running turns have ended; a second Ctrl-C stops at once.",
    )
    serve.add_argument(
        "--listen",
        metavar="URL",
        action="append",
        help="ws://IP:PORT or unix://PATH, repeatable; default ws://127.0.0.1:4500",
    )
    _access(serve)
    app = _command(
        commands,
        "app-server",
        "app_server",
        "speak the app-server protocol on stdin and stdout",
        "For SDKs that start `codex app-server`; joins the server that owns the home, if any.",
    )
    app.add_argument("--listen", metavar="URL", action="append", help="default stdio://")
    app.add_argument("--stdio", action="store_true", help="same as --listen stdio://")
    app.add_argument("--strict-config", action="store_true", help=argparse.SUPPRESS)
    app.add_argument("--session-source", help=argparse.SUPPRESS)
    _access(app)
    demo = _command(
        commands,
        "demo",
        "demo",
        "show the main job with sample sessions",
        "Uses a throw-away home and the offline provider; needs no key and no network.",
    )
    demo.add_argument("--once", action="store_true", help="exit instead of serving on")


def _using(commands: "Commands[argparse.ArgumentParser]") -> None:
    chat = _command(commands, "chat", "chat", "ask the agent, once or in a conversation")
    chat.add_argument("prompt", nargs="*", metavar="PROMPT", help="without it: a conversation")
    chat.add_argument("--thread", metavar="ID", help="go on with this thread")
    chat.add_argument("--connect", metavar="URL", help="a running server, ws://HOST:PORT")
    chat.add_argument("--cwd", metavar="DIR", help="the project's folder; default: here")
    search = _command(
        commands,
        "search",
        "search",
        "find what memory says about a question",
        "Ask in plain words; the best comes first. Notes count that are not worked in yet.",
    )
    search.add_argument("query", nargs="+", metavar="QUERY")
    search.add_argument("--limit", metavar="N", type=int, default=10, help="default: 10")
    search.add_argument(
        "--memory-version", metavar="V", help="v1 or v2; default: the one that threads read"
    )
    _json(search)
    status = _command(commands, "status", "data", "show threads, jobs, memory and spend")
    _json(status)
    doctor = _command(commands, "doctor", "doctor", "check every part, with a hint for each fault")
    _json(doctor)


def _noting(commands: "Commands[argparse.ArgumentParser]") -> None:
    remember = _command(
        commands,
        "remember",
        "notes",
        "keep a note, in force for the next thread at once",
        "The words are kept as they are,\n"
        "secrets in them are masked. Until the next consolidation works it into memory, it\n"
        "stands in the prompt of every new thread.\n\n"
        "  memoryd remember The staging database is read only on Fridays.\n"
        "  memoryd remember - < notes.txt          the text from standard input\n"
        "  memoryd remember Forget that I live in Lisbon.",
    )
    remember.add_argument("text", nargs="*", metavar="TEXT", help="`-` or none: standard input")
    correct = _command(
        commands,
        "correct",
        "notes",
        "put right what memory says; the correction outranks every use",
        "ID is that\n"
        "of a note, as `memoryd remember` prints it, or PATH:LINE of a memory file, as a search\n"
        "gives it. That line gives way at once, and the correction stands above the rest.\n\n"
        "  memoryd correct MEMORY.md:12 The API listens on port 9090.\n"
        "  memoryd correct 2026-11-29T10-00-00-use-tabs Use spaces.",
    )
    correct.add_argument("id", metavar="ID")
    correct.add_argument("text", nargs="*", metavar="TEXT", help="`-` or none: standard input")
    correct.add_argument(
        "--base", metavar="BASE", help="refuse if something else stands there than this names"
    )
    for one in (remember, correct):
        one.add_argument(
            "--memory-version", metavar="V", help="v1 or v2; default: the one that threads read"
        )
        _json(one)


def _pausing(commands: "Commands[argparse.ArgumentParser]") -> None:
    pause = _command(
        commands,
        "pause",
        "data",
        "stop all learning until `memoryd resume`, also over a restart",
        "What works now is ended; memory stays as it is and is still read.",
    )
    _json(pause)
    _json(_command(commands, "resume", "data", "let learning go on after a pause"))


def _carrying(commands: "Commands[argparse.ArgumentParser]") -> None:
    export = _command(
        commands,
        "export",
        "data",
        "write memory and notes into a folder that a team can review",
        "Plain files and\n"
        "a manifest, secrets masked, paths of this machine replaced: `~`, `$MEMORYD_HOME`,\n"
        "`git:host/path` for a project. An unchanged memory gives the same bytes again,\n"
        "but for the time.",
    )
    export.add_argument("folder", metavar="DIR", help="absent or empty")
    # `--version` of the command line is another thing, this one stands behind the command.
    export.add_argument(
        "--version",
        "--memory-version",
        dest="memory_version",
        metavar="V",
        help="v1 or v2; default: the one that threads read",
    )
    _json(export)
    restore = _command(
        commands,
        "restore",
        "data",
        "bring in an exported memory, here or on another machine",
        "Nothing that stands here is overwritten, and a second time changes nothing.\n"
        "Notes are in force at once; everything else is material for the next consolidation.",
    )
    restore.add_argument("folder", metavar="DIR", help="what `memoryd export` wrote")
    restore.add_argument(
        "--dry-run", action="store_true", help="say what would happen, change nothing"
    )
    _json(restore)


def _keeping(commands: "Commands[argparse.ArgumentParser]") -> None:
    bring = _command(
        commands,
        "import",
        "data",
        "bring in existing sessions, and the memory of another agent",
        "The source is only read. Running it again brings in what is new.",
    )
    bring.add_argument(
        "source",
        metavar="codex|claude|PATH",
        help="sessions of `codex` ($CODEX_HOME or ~/.codex) or of a file or folder, or sessions "
        "and memory files of `claude` ($CLAUDE_CONFIG_DIR or ~/.claude)",
    )
    bring.add_argument("--since", metavar="YYYY-MM-DD", help="only sessions touched since then")
    bring.add_argument(
        "--dry-run", action="store_true", help="say what would happen, change nothing"
    )
    _json(bring)
    consolidate = _command(
        commands,
        "consolidate",
        "data",
        "turn finished sessions into memory now",
        "Takes every enabled thread that is not in a turn, whatever its age.",
    )
    consolidate.add_argument("--thread", metavar="ID", help="only this thread")
    consolidate.add_argument("--wait", action="store_true", help="return when memory is published")
    _json(consolidate)
    reset = _command(
        commands,
        "reset",
        "data",
        "delete all memory; threads and their transcripts stay",
    )
    reset.add_argument(
        "--yes", action="store_true", help="really do it; without it nothing is reset"
    )
    reset.add_argument(
        "--relearn", action="store_true", help="let what was said so far be learned anew"
    )
    _json(reset)
    evals = _command(
        commands,
        "eval",
        "evals",
        "run a committed eval against this installation",
        "`extraction` measures what the offline rules keep of a corpus of sessions. The part `dev` "
        "is what the rules are developed on, `final` is opened for its figure only. `retrieval` "
        "measures search on conversations: our own, and public ones that you name.",
    )
    evals.add_argument("what", choices=["extraction", "retrieval"])
    evals.add_argument("--part", choices=["dev", "final"], help="default: both")
    evals.add_argument("--locomo", metavar="FILE", help="locomo10.json of LoCoMo")
    evals.add_argument("--beam", metavar="DIR", help="the folder chats/100K of BEAM")
    evals.add_argument("--semantic", action="store_true", help="by meaning too (extra `semantic`)")
    _json(evals)
    schema = _command(commands, "schema", "schema", "export the protocol's JSON Schemas")
    schema.add_argument("action", choices=["write", "check"])
    schema.add_argument("--out", metavar="DIR", default="schemas", help="default: ./schemas")
