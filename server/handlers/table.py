"""Binds every method of the list to its handler; one without a handler stops the start.

Only `initialize` is not among them: the front answers it before all this is loaded.
"""

from protocol import methods
from server.handlers.archiving import ArchiveHandlers
from server.handlers.catalog import CatalogHandlers
from server.handlers.changing import ChangeHandlers
from server.handlers.commands import CommandHandlers
from server.handlers.config import ConfigHandlers
from server.handlers.exchange import ExchangeHandlers
from server.handlers.forking import ForkHandler
from server.handlers.learning import LearningHandlers
from server.handlers.mcp import McpHandlers
from server.handlers.memory import MemoryHandlers
from server.handlers.memory_report import MemoryReportHandler
from server.handlers.notes import NoteHandlers
from server.handlers.overview import OverviewHandler
from server.handlers.reading import ReadingHandlers
from server.handlers.resuming import ResumeHandler
from server.handlers.reviewing import ReviewHandler
from server.handlers.search import SearchHandler
from server.handlers.services import Services
from server.handlers.terminals import TerminalHandlers
from server.handlers.threads import ThreadHandlers
from server.handlers.turns import TurnHandlers
from server.wire.dispatch import Bindings, Bound, table


def bindings(services: Services) -> Bindings:
    """The dispatcher's table. Longer than the habit: it is one list.

    Raises: ValueError if a method has no handler.
    """
    threads = ThreadHandlers(services)
    catalog = CatalogHandlers(services)
    changes = ChangeHandlers(services)
    archive = ArchiveHandlers(services)
    reading = ReadingHandlers(services)
    turns = TurnHandlers(services)
    memory = MemoryHandlers(services)
    learning = LearningHandlers(services)
    notes = NoteHandlers(services)
    exchange = ExchangeHandlers(services)
    config = ConfigHandlers(services)
    commands = CommandHandlers(services)
    terminals = TerminalHandlers(services)
    return table(
        Bound(methods.THREAD_START, threads.start),
        Bound(methods.THREAD_RESUME, ResumeHandler(services).resume),
        Bound(methods.THREAD_LIST, reading.list_threads),
        Bound(methods.THREAD_LOADED_LIST, threads.loaded_list),
        Bound(methods.THREAD_READ, reading.read),
        Bound(methods.THREAD_TURNS_LIST, reading.list_turns),
        Bound(methods.THREAD_ITEMS_LIST, reading.list_items),
        Bound(methods.THREAD_NAME_SET, threads.set_name),
        Bound(methods.THREAD_FORK, ForkHandler(services).fork),
        Bound(methods.THREAD_SEARCH, reading.search),
        Bound(methods.THREAD_REVERT, changes.revert),
        Bound(methods.THREAD_INJECT_ITEMS, changes.inject),
        Bound(methods.THREAD_METADATA_UPDATE, changes.metadata),
        Bound(methods.THREAD_SETTINGS_UPDATE, changes.settings),
        Bound(methods.THREAD_COMPACT_START, turns.compact),
        Bound(methods.REVIEW_START, ReviewHandler(services).start),
        Bound(methods.THREAD_ARCHIVE, archive.archive),
        Bound(methods.THREAD_UNARCHIVE, archive.unarchive),
        Bound(methods.THREAD_DELETE, archive.delete),
        Bound(methods.THREAD_UNSUBSCRIBE, threads.unsubscribe),
        Bound(methods.THREAD_MEMORY_MODE_SET, memory.set_mode),
        Bound(methods.THREAD_MEMORY_READ, memory.read),
        Bound(methods.THREAD_MEMORY_REPORT, MemoryReportHandler(services).report),
        Bound(methods.THREAD_IMPORT, learning.import_sessions),
        Bound(methods.TURN_START, turns.start),
        Bound(methods.TURN_STEER, turns.steer),
        Bound(methods.TURN_INTERRUPT, turns.interrupt),
        Bound(methods.MEMORY_STATUS, memory.status),
        Bound(methods.MEMORY_RESET, memory.reset),
        Bound(methods.MEMORY_CONSOLIDATE_START, learning.consolidate),
        Bound(methods.MEMORY_OVERVIEW, OverviewHandler(services).overview),
        Bound(methods.MEMORY_SEARCH, SearchHandler(services).search),
        Bound(methods.MEMORY_PAUSE, learning.pause),
        Bound(methods.MEMORY_IMPORT, learning.import_agent_memories),
        Bound(methods.MEMORY_EXPORT, exchange.export),
        Bound(methods.MEMORY_RESTORE, exchange.restore),
        Bound(methods.MEMORY_REMEMBER, notes.remember),
        Bound(methods.MEMORY_CORRECT, notes.correct),
        Bound(methods.MODEL_LIST, config.model_list),
        Bound(methods.MCP_SERVER_STATUS_LIST, McpHandlers(services).status_list),
        Bound(methods.CONFIG_READ, config.config_read),
        Bound(methods.CONFIG_REQUIREMENTS_READ, config.requirements_read),
        Bound(methods.ACCOUNT_READ, config.account_read),
        Bound(methods.SKILLS_LIST, catalog.skills),
        Bound(methods.HOOKS_LIST, catalog.hooks),
        Bound(methods.PLUGIN_INSTALLED, catalog.plugins_installed),
        Bound(methods.PLUGIN_LIST, catalog.plugins),
        Bound(methods.APP_LIST, catalog.nothing),
        Bound(methods.COLLABORATION_MODE_LIST, catalog.collaboration_modes),
        Bound(methods.PERMISSION_PROFILE_LIST, catalog.permission_profiles),
        Bound(methods.EXPERIMENTAL_FEATURE_LIST, catalog.features),
        Bound(methods.THREAD_GOAL_GET, catalog.goal),
        Bound(methods.THREAD_GOAL_CLEAR, catalog.clear_goal),
        Bound(methods.ACCOUNT_RATE_LIMITS_READ, catalog.rate_limits),
        Bound(methods.ACCOUNT_BEDROCK_CHECK, catalog.gov_cloud),
        Bound(methods.CONFIG_VALUE_WRITE, config.value_write),
        Bound(methods.CONFIG_BATCH_WRITE, config.batch_write),
        Bound(methods.THREAD_SHELL_COMMAND, terminals.shell_command),
        Bound(methods.THREAD_BACKGROUND_TERMINALS_LIST, terminals.list_terminals),
        Bound(methods.THREAD_BACKGROUND_TERMINALS_TERMINATE, terminals.terminate),
        Bound(methods.THREAD_BACKGROUND_TERMINALS_CLEAN, terminals.clean),
        Bound(methods.COMMAND_EXEC, commands.exec),
        Bound(methods.COMMAND_EXEC_WRITE, commands.write),
        Bound(methods.COMMAND_EXEC_RESIZE, commands.resize),
        Bound(methods.COMMAND_EXEC_TERMINATE, commands.terminate),
    )
