"""How-to pages whose commands and claims are checked here: coming from another tool, code documentation, MCP."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import click
import pytest
import yaml

from ragauge.cli.main import main
from ragauge.core.sample import RetrievedChunk
from ragauge.dataset.foreign import TOOLS
from ragauge.engine.settings import load_settings

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def blocks(page: str, language: str = "") -> list[str]:
    """The fenced blocks of a page in one language."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[list[str]]:
    """The arguments of every `ragauge …` line in blocks without a language."""
    lines = [line.partition("#")[0].split() for block in blocks(page) for line in block.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["ragauge"]]


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_coming_from_another_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("testset.jsonl").write_text('{"user_input": "Q?", "reference": "R", "reference_contexts": ["c"]}\n')
    result = {"vars": {"query": "Q?"}, "response": {"output": "A"}, "testCase": {}}
    Path("output.json").write_text(json.dumps({"results": {"results": [result]}}))
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    Path("system.run").write_text("q1 Q0 d1 1 0.5 tag\n")
    Path("queries.tsv").write_text("q1\tQ?\n")
    for arguments in commands("coming-from.md"):
        arguments += ["--judge", "none", "--quiet"] if arguments[0] == "score" else []
        assert run(arguments) == 0, arguments
    assert Path("golden.yaml").exists()
    assert len(list(Path("runs").iterdir())) == 1


def test_every_tool_that_is_read_or_written_stands_on_the_page() -> None:
    from ragauge.cli.export import command as export
    from ragauge.cli.import_ import command as read

    text = (HOW_TO / "coming-from.md").read_text(encoding="utf-8").casefold()
    assert all(tool in text for tool in TOOLS)
    offered = {parameter.name: parameter.type for parameter in (*export.params, *read.params)}
    assert set(offered["tool"].choices) == set(TOOLS)  # type: ignore[attr-defined]
    targets = next(
        kind for kind in offered.values() if isinstance(kind, click.Choice) and "huggingface" in kind.choices
    )
    assert all(f"`{target}`" in text or f"--to {target}" in text for target in targets.choices)


def test_code_documentation(tmp_path: Path) -> None:
    (settings,) = blocks("code-documentation.md", "yaml")
    (tmp_path / "ragauge.yaml").write_text(settings, encoding="utf-8")
    assert load_settings(tmp_path / "ragauge.yaml").profile == "code"
    (script,) = blocks("code-documentation.md", "python")
    code, _, said = script.rstrip().rpartition("  # ")
    chunk = RetrievedChunk(id="c1", text="Pass `--depth N` to limit it.", rank=1)
    *before, last = code.splitlines()
    known: dict[str, object] = {"chunks": [chunk]}
    exec("\n".join(before), known)
    assert repr(eval(last, known)).replace("'", '"') == said
    assert said.strip('("),') in (HOW_TO / "code-documentation.md").read_text(encoding="utf-8")


def test_mcp_names_its_tools_with_their_arguments_and_starts_as_written(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from ragauge.cli.mcp import command as serve
    from ragauge.mcp_server.server import make_server

    (config,) = blocks("mcp.md", "json")
    server = json.loads(config)["mcpServers"]["ragauge"]
    verb, *arguments = server["args"]
    (tmp_path / "ragauge.yaml").write_text(yaml.safe_dump({"judge": "embedded"}), encoding="utf-8")
    placed = [str(tmp_path / one) if one in ("runs", "ragauge.yaml") else one for one in arguments]
    assert (server["command"], verb) == ("ragauge", "mcp")
    serve.make_context("mcp", placed)  # every option is one
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", (HOW_TO / "mcp.md").read_text(encoding="utf-8"), re.MULTILINE)
    written = {name: {one.strip().rstrip("?") for one in given.split(",") if one.strip()} for name, given in rows}
    tools = asyncio.run(make_server(tmp_path / "runs", None).list_tools())
    assert {tool.name: set(tool.input_schema["properties"]) for tool in tools} == written
