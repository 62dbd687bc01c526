"""`ragauge init`: something to start from."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import click

from ragauge.cli.init_systems import SYSTEMS, settings_text

SETTINGS = """\
# Settings of ragauge. Paths are relative to this file. `ragauge run` reads it; flags win over it.
golden: golden.yaml        # questions, reference answers, gold evidence
corpus: docs               # a folder of .md, .txt, .rst or .html files

system:                    # the thing under test
  reference:               # the built-in pipeline; or callable, replay (see docs/how-to/systems.md)
    chunk_size: 800        # characters
    chunk_overlap: 100
    retrieval: dense       # dense | bm25 | hybrid
    k: 5
    rerank: none           # none | minilm
    generator: extractive  # extractive | none

judge: embedded            # no key, no network (embedded:encoder: slower, agrees more with people); or none

# metrics: [recall@5, faithfulness, correctness]    # default: everything that the golden set can feed
thresholds:
  profile: general         # general | high_stakes
run:
  concurrency: 8
  seed: 0
"""

GOLDEN = """\
# One item per question. Only `id` and `question` are required; everything else adds metrics.
- id: q1
  question: How do I change the retention of the audit log?
  answer: Set `audit.retention_days`; the default is 30 days.
  answerable: true         # say it on every item: rates of wrong refusals and of hallucinations rest on it
  # Evidence by quote survives re-chunking: say where the answer stands, word for word.
  evidence:
    - {document: configuration.md, quote: "`audit.retention_days` | 30"}
  keywords: ["audit.retention_days", "30"]
  tags: [lookup]
  verified: false
- id: q2
  question: Which colour has the logo?
  answerable: false        # the documents do not say: the right answer is to decline
  tags: [unanswerable]
  verified: false
"""

_BY_QUOTE = """\
  # Evidence by quote survives re-chunking: say where the answer stands, word for word.
  evidence:
    - {document: configuration.md, quote: "`audit.retention_days` | 30"}
"""
_BY_DOCUMENT = """\
  sources: [configuration.md]   # documents that hold the answer, as your system names them (see `ragauge ask`)
"""

#: For systems whose chunks are not ours, evidence is named by document.
GOLDEN_BY_DOCUMENT = GOLDEN.replace(_BY_QUOTE, _BY_DOCUMENT)


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--example", is_flag=True, help="Copy the shipped example (corpus, golden set, settings) instead.")
@click.option("--from", "kind", metavar="KIND", help=f"The system that you have: {', '.join(SYSTEMS)}.")
def command(folder: Path, example: bool, kind: str | None) -> int:
    """Write ragauge.yaml and golden.yaml into FOLDER (default: here). Nothing is overwritten."""
    from ragauge.errors import SettingsError, StoreError, UnknownName

    if kind is not None and kind not in SYSTEMS:
        raise UnknownName("kind of system", kind, SYSTEMS)
    if kind is not None and example:
        raise SettingsError("--example has a system of its own: leave out --from")

    names = ("ragauge.yaml", "golden.yaml") + (("corpus",) if example else ())
    taken = [name for name in names if (folder / name).exists()]
    if taken:
        raise StoreError(f"{', '.join(taken)} exists already in {folder.resolve()}", hint="Name another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if example:
            _copy_example(folder)
        else:
            text = SETTINGS if kind is None else settings_text(kind)
            (folder / "ragauge.yaml").write_text(text, encoding="utf-8")
            (folder / "golden.yaml").write_text(GOLDEN if kind is None else GOLDEN_BY_DOCUMENT, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write into {folder}: {error.strerror or error}") from error
    for name in names:
        click.echo(f"wrote {folder / name}")
    if kind is not None:
        _say_extra(SYSTEMS[kind][1])
        click.echo("Next: correct `system:`, then: ragauge ask, and with your questions: ragauge run")
        return 0
    click.echo("Next: " + ("ragauge run" if example else "put your questions into golden.yaml, then: ragauge run"))
    return 0


def _copy_example(folder: Path) -> None:
    from ragauge.cli.demo import example_folder

    source = example_folder()
    for name in ("ragauge.yaml", "golden.yaml"):
        shutil.copyfile(source / name, folder / name)
    shutil.copytree(source / "corpus", folder / "corpus", ignore=shutil.ignore_patterns("__pycache__"))


def _say_extra(extra: str) -> None:
    """What has to be installed for this kind of system, if it is not."""
    modules = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack", "http": "jsonpath"}
    if extra and find_spec(modules.get(extra, extra)) is None:
        click.echo(f"It needs an extra: pip install 'ragauge[{extra}]'")
