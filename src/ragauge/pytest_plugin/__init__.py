"""The pytest plugin: golden questions as tests, whole-set assertions. Silent, and nothing heavy loaded, until used.

Three ways in:

* `pytest --ragauge` (or `-p ragauge`): one test for each golden question of `ragauge.yaml`, and one for the whole set
  (the `gate` section, a baseline).
* `@pytest.mark.ragauge(golden="golden.yaml")` on a test with the argument `golden_item`: called once for each item.
  `ragauge_check` scores an answer to it and fails with the reason.
* the fixtures `ragauge_run` and `ragauge_gate` in your own tests: `assert ragauge_run["faithfulness"].value >= 0.9`.

The system is run once for a session, whatever the number of xdist workers: the first one that needs it runs it, the
others wait and read the run.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.pytest_plugin.session import SESSION, Session, beside_test, golden_items, outcomes, test_name

if TYPE_CHECKING:
    from ragauge.analysis.gate_result import GateResult
    from ragauge.api import Run
    from ragauge.core.sample import GoldenItem

#: The name of the test of the whole set.
WHOLE_SET = "whole set"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; none of them does anything unless given."""
    group = parser.getgroup("ragauge", "evaluation of retrieval-augmented systems")
    group.addoption("--ragauge", action="store_true", help="One test for each golden question of ragauge.yaml.")
    group.addoption("--ragauge-config", metavar="FILE", help="The settings file (implies --ragauge).")
    group.addoption("--ragauge-run", metavar="RUN", help="Test this finished run instead of running the system.")
    group.addoption("--ragauge-baseline", metavar="FILE", help="The baseline of the whole-set test.")
    group.addoption(
        "--ragauge-update-baseline",
        action="store_true",
        help="Write the baseline from this session's run; gate nothing.",
    )
    group.addoption(
        "--ragauge-record-only",
        action="store_true",
        help="Run and report, but let no golden question fail the session.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and the folder in which workers find each other."""
    config.addinivalue_line(
        "markers", "ragauge(golden, tags=(), limit=None): call the test for each golden item, as `golden_item`."
    )
    worker = getattr(config, "workerinput", None)
    folder = worker["ragauge_folder"] if worker else Path(tempfile.gettempdir()) / f"ragauge-pytest-{uuid.uuid4().hex}"
    config.stash[SESSION] = Session(config, Path(folder))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the others are."""
    node.workerinput["ragauge_folder"] = str(node.config.stash[SESSION].folder)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`golden_item` takes each item of the golden set that the marker names; ids are the items' own."""
    if "golden_item" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("ragauge")
    if marker is None or not (marker.args or "golden" in marker.kwargs):
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: `golden_item` needs @pytest.mark.ragauge(golden='golden.yaml')"
        )
    items = golden_items(
        beside_test(
            metafunc.config,
            marker.kwargs.get("golden", marker.args[0] if marker.args else ""),
            metafunc.definition.path,
        ),
        tags=marker.kwargs.get("tags", ()),
        limit=marker.kwargs.get("limit"),
    )
    metafunc.parametrize("golden_item", items, ids=[test_name(item.id) for item in items])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--ragauge`: the questions of the golden set as tests, before -k and -m choose among them."""
    shared = config.stash[SESSION]
    if not shared.asked_for:
        return
    path = shared.config_path if shared.run_reference is None else Path(shared.run_reference)
    parent = GoldenFile.from_parent(session, path=path if path.is_absolute() else config.rootpath / path)
    items.extend(parent.collect())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the baseline when that was asked for (once, in the controller), and clean up."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    shared = config.stash.get(SESSION, None)
    if shared is None:
        return
    try:
        if config.getoption("--ragauge-update-baseline"):
            shared.update_baseline()
    finally:
        shutil.rmtree(shared.folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Where the run is, and what was written; nothing when nothing was run."""
    shared = config.stash.get(SESSION, None)
    if shared is not None and shared.notes:
        terminalreporter.section("ragauge")
        for note in shared.notes:
            terminalreporter.write_line(note)


class GoldenFile(pytest.File):
    """The golden questions of one settings file (or of one run) as tests, and the whole set as one more."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each question, in the golden set's order."""
        shared = self.config.stash[SESSION]
        for item in shared.items():
            yield GoldenQuestion.from_parent(self, name=test_name(item), golden_id=item)
        yield WholeSet.from_parent(self, name=WHOLE_SET)


class NotGood(Exception):
    """What a golden question's test fails with; shown without a traceback."""


class GoldenQuestion(pytest.Item):
    """One golden question: red when its answer is not good, with the reason."""

    def __init__(self, *, golden_id: str, **more: Any) -> None:
        super().__init__(**more)
        self.golden_id = golden_id

    def runtest(self) -> None:
        """Look up what is wrong with it."""
        shared = self.config.stash[SESSION]
        problems = shared.problems(self.golden_id)
        if problems:
            told = "\n".join(problems)
            if self.config.getoption("--ragauge-record-only"):
                pytest.xfail(told)
            raise NotGood(told)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The reason alone, no traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, NotGood) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands in the report."""
        return self.path, None, self.name


class WholeSet(GoldenQuestion):
    """The gate on the whole set: floors, drops against the baseline, ceilings."""

    def __init__(self, **more: Any) -> None:
        super().__init__(golden_id="", **more)

    def runtest(self) -> None:
        """Fail with the gate's own words; skip when there is nothing to hold the set against."""
        from ragauge.errors import RagaugeError
        from ragauge.report.gate import headline

        shared = self.config.stash[SESSION]
        try:
            result = shared.gate()
        except RagaugeError as error:
            raise NotGood(str(error)) from None
        if result is None:
            pytest.skip("no baseline and no `gate` section: nothing to hold the whole set against")
        if result.verdict != "pass":
            lines = [f"{c.name}: {c.reason}" for c in result.checks if c.verdict != "pass"]
            told = "\n".join([headline(result), *lines])
            if self.config.getoption("--ragauge-record-only"):
                pytest.xfail(told)
            raise NotGood(told)


@pytest.fixture(scope="session")
def ragauge_run(pytestconfig: pytest.Config) -> Run:
    """The run of `ragauge.yaml` (or `--ragauge-run`): `ragauge_run["faithfulness"].value`."""
    return pytestconfig.stash[SESSION].run()


@pytest.fixture(scope="session")
def ragauge_gate(pytestconfig: pytest.Config) -> GateResult:
    """The gate's verdict on that run: `assert ragauge_gate.verdict == "pass", ragauge_gate.checks`."""
    result = pytestconfig.stash[SESSION].gate()
    if result is None:
        raise pytest.UsageError("ragauge_gate has nothing to check: give --ragauge-baseline or a `gate` section")
    return result


@pytest.fixture
def ragauge_check(tmp_path: Path) -> Callable[..., Any]:
    """`ragauge_check(golden_item, answer, contexts)` scores one answer and fails with the reason when it is not good.

    `contexts`: texts, or mappings with id, document and text. `metrics`, `judge` and `thresholds` as in
    `ragauge.evaluate`. Gives the scores (metric → Scored or Unscored).
    """

    def check(
        item: GoldenItem,
        answer: str | None,
        contexts: Sequence[Any] = (),
        *,
        metrics: Sequence[str] | None = None,
        judge: Any = "embedded",
        thresholds: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        __tracebackhide__ = True
        from ragauge import api
        from ragauge.dataset.golden import GoldenSet

        row = {"id": item.id, "question": item.question, "answer": answer, "contexts": list(contexts)}
        run = api.evaluate(
            [row],
            metrics,
            judge,
            golden=GoldenSet("pytest", None, (item,)),
            thresholds=thresholds,
            out=tmp_path / "runs",
        )
        problems = outcomes(run)[item.id]
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
        (record,) = run.rows()
        return dict(record.scores)

    return check
