"""Binds every method of the list to its handler; one without a handler stops the start."""

from protocol import methods
from server.handlers.config import ConfigHandlers
from server.handlers.handshake import HandshakeHandlers
from server.handlers.learning import LearningHandlers
from server.handlers.memory import MemoryHandlers
from server.handlers.overview import OverviewHandler
from server.handlers.reading import ReadingHandlers
from server.handlers.resuming import ResumeHandler
from server.handlers.services import Services
from server.handlers.threads import ThreadHandlers
from server.handlers.turns import TurnHandlers
from server.wire.dispatch import Bindings, Bound, table


def bindings(services: Services) -> Bindings:
    """The dispatcher's table.

    Raises: ValueError if a method has no handler.
    """
    threads = ThreadHandlers(services)
    reading = ReadingHandlers(services)
    turns = TurnHandlers(services)
    memory = MemoryHandlers(services)
    learning = LearningHandlers(services)
    config = ConfigHandlers(services)
    return table(
        Bound(methods.INITIALIZE, HandshakeHandlers(services).initialize),
        Bound(methods.THREAD_START, threads.start),
        Bound(methods.THREAD_RESUME, ResumeHandler(services).resume),
        Bound(methods.THREAD_LIST, reading.list_threads),
        Bound(methods.THREAD_LOADED_LIST, threads.loaded_list),
        Bound(methods.THREAD_READ, reading.read),
        Bound(methods.THREAD_TURNS_LIST, reading.list_turns),
        Bound(methods.THREAD_ITEMS_LIST, reading.list_items),
        Bound(methods.THREAD_NAME_SET, threads.set_name),
        Bound(methods.THREAD_DELETE, threads.delete),
        Bound(methods.THREAD_UNSUBSCRIBE, threads.unsubscribe),
        Bound(methods.THREAD_MEMORY_MODE_SET, memory.set_mode),
        Bound(methods.THREAD_MEMORY_READ, memory.read),
        Bound(methods.THREAD_IMPORT, learning.import_sessions),
        Bound(methods.TURN_START, turns.start),
        Bound(methods.TURN_INTERRUPT, turns.interrupt),
        Bound(methods.MEMORY_STATUS, memory.status),
        Bound(methods.MEMORY_RESET, memory.reset),
        Bound(methods.MEMORY_CONSOLIDATE_START, learning.consolidate),
        Bound(methods.MEMORY_OVERVIEW, OverviewHandler(services).overview),
        Bound(methods.MEMORY_PAUSE, learning.pause),
        Bound(methods.MEMORY_IMPORT, learning.import_agent_memories),
        Bound(methods.MODEL_LIST, config.model_list),
        Bound(methods.CONFIG_READ, config.config_read),
        Bound(methods.CONFIG_REQUIREMENTS_READ, config.requirements_read),
        Bound(methods.ACCOUNT_READ, config.account_read),
    )
