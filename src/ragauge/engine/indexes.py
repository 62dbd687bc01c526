"""One index for all cells that cut, prefix and embed the same corpus in the same way."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ragauge.core.model import fingerprint
from ragauge.core.sample import Chunk, Question, Response, RetrievedContext
from ragauge.core.system import Closes, HasCorpus, System, SystemInfo
from ragauge.engine.parts import make_system
from ragauge.engine.settings import Settings, fill_variables
from ragauge.errors import StoreError

#: Settings of the reference pipeline that no vector depends on.
_NO_VECTOR = frozenset(
    ("retrieval", "k", "candidates", "rrf_k", "rerank", "history", "generator", "refusal", "max_sentences",
     "abstain_below", "language", "store", "embedding_cache", "expand", "n_queries", "model")
)  # fmt: skip
#: Values that make a pipeline of which only the chunks are wanted: nothing is loaded that vectors would need.
_LIGHT = {"retrieval": "bm25", "rerank": "none", "generator": "none", "store": "memory"}


class IndexKeys:
    """The fingerprint of the index that settings need; corpora are read and cut once per different index."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, settings: Settings) -> str | None:
        """None for a system that has no vector index of ours. Raises `SettingsError` for settings that cannot be."""
        kind, values = settings.system_kind()
        if kind != "reference":
            return None
        from ragauge.systems.reference.settings import read_settings

        checked = read_settings({"corpus": settings.corpus, **fill_variables(values)})
        if checked.retrieval == "bm25":
            return None
        # Prefixes that a model writes depend on which model that is, so nothing of it can be left out.
        described = values.get("prefix") == "contextual"
        parts = {name: value for name, value in values.items() if described or name not in _NO_VECTOR}
        known = fingerprint([str(settings.base), settings.corpus, parts])
        if known not in self._known:
            light = {"store": "memory"} if described else _LIGHT | ({"expand": "none"} if "expand" in values else {})
            system: Any = make_system(with_system(settings, **light))
            self._known[known] = system.index_fingerprint()
        return self._known[known]


def with_system(settings: Settings, **values: Any) -> Settings:
    """The same settings, with some of the system's own replaced."""
    kind, known = settings.system_kind()
    return settings.model_copy(update={"system": {kind: known | values}})


def keeps_its_own_store(settings: Settings) -> bool:
    """Whether the vectors go to a Qdrant server: cells find each other's collections there by themselves."""
    _, values = settings.system_kind()
    return str(values.get("store", "memory")).startswith(("http://", "https://"))


async def build_index(settings: Settings, store: Path | None, told: Callable[[int, int], None]) -> int:
    """Build the index that `settings` need in the folder `store`; the number of chunks that were added."""
    system: Any = make_system(with_system(settings, store=str(store)) if store is not None else settings)
    try:
        n_added: int = await system.build_index(told)
        return n_added
    finally:
        await system.aclose()


class Shelf:
    """The index folders that one process has open. A folder takes one process, so each works on a copy of its own.

    The most recently used index stays open, so that the next cell of the same index finds it loaded.
    """

    def __init__(self, copies: Path | None) -> None:
        """`copies` None: this is the only process, and the folders themselves are used."""
        self._copies = copies
        self._folders: dict[Path, Path] = {}
        self._held: tuple[Path, Any] | None = None

    def take(self, folder: Path) -> Path:
        """The folder to open instead of `folder`, held open until another one is taken."""
        from ragauge.systems.reference.index import VectorStore

        if self._held is not None and self._held[0] == folder:
            return self._folders[folder]
        if folder not in self._folders:
            self._folders[folder] = folder if self._copies is None else self._copied(folder, self._copies)
        self._let_go()
        self._held = (folder, VectorStore(str(self._folders[folder])))
        return self._folders[folder]

    def close(self) -> None:
        """Let go of everything and take the copies away."""
        self._let_go()
        if self._copies is not None:
            for copy in self._folders.values():
                shutil.rmtree(copy, ignore_errors=True)
        self._folders.clear()

    def _let_go(self) -> None:
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def _copied(self, folder: Path, copies: Path) -> Path:
        try:
            copies.mkdir(parents=True, exist_ok=True)
            copy = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=copies))
            return Path(shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".lock"), dirs_exist_ok=True))
        except OSError as error:
            raise StoreError(f"cannot copy the index {folder}: {error.strerror or error}") from error


class Relocated:
    """A system whose index lies elsewhere than its settings say; its card still shows the settings as given."""

    def __init__(self, system: Any, store: str) -> None:
        self._system, self._store = system, store

    def info(self) -> SystemInfo:
        """The card, with the store that was asked for."""
        info: SystemInfo = self._system.info()
        return info.model_copy(update={"settings": info.settings | {"store": self._store}})

    def __getattr__(self, name: str) -> Any:
        """Whatever else a run asks a system for (warnings, a check before the start)."""
        if name.startswith("_"):  # before `__init__`, and for copying
            raise AttributeError(name)
        return getattr(self._system, name)

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """As the system does."""
        response: Response = await self._system.respond(question, context=context)
        return response

    def corpus(self) -> Iterable[Chunk]:
        """As the system does."""
        chunks: Iterable[Chunk] = self._system.corpus()
        return chunks

    async def build_index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """As the system does."""
        n_added: int = await self._system.build_index(progress)
        return n_added

    async def prepare(self, questions: Sequence[Question]) -> None:
        """As the system does."""
        await self._system.prepare(questions)

    async def aclose(self) -> None:
        """As the system does."""
        await self._system.aclose()


def _keeps_the_protocols(system: Relocated) -> tuple[System, HasCorpus, Closes]:
    return system, system, system
