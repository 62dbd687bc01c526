"""A small MCP server with a knowledge tool: `python mcp_knowledge.py [http PORT]`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("knowledge")
PASSAGES = [
    {"id": "limits#1", "source": "limits.md", "text": "Free: 60 requests per minute.", "score": 0.9},
    {"id": "keys#1", "source": "keys.md", "text": "Rotate keys in the console.", "score": 0.4},
]


@server.tool()
def search(query: str, limit: int = 2) -> dict[str, Any]:
    """Passages about something."""
    return {"hits": PASSAGES[:limit], "query": query}


@server.tool()
def passages(query: str) -> list[dict[str, Any]]:
    """Passages as a list."""
    return PASSAGES


@server.tool(structured_output=False)
def text(question: str) -> str:
    """Passages as one text."""
    return "\n---\n".join(one["text"] for one in PASSAGES)


@server.tool()
def answer(question: str) -> dict[str, Any]:
    """An answer with its passages."""
    return {"answer": f"60 per minute ({question})", "contexts": PASSAGES}


@server.tool()
def fails(query: str) -> str:
    """Always fails."""
    raise ToolError(f"the index is gone; key {os.environ.get('KEY')}")


@server.tool()
def slow(query: str) -> str:
    """Takes long."""
    time.sleep(3)
    return "late"


@server.tool()
def dies(query: str) -> str:
    """Takes the server down, unless it was told to live."""
    if query == "die":
        print("segmentation fault, so to speak", file=sys.stderr, flush=True)
        os._exit(9)
    return f"alive {os.getpid()}"


@server.tool()
def odd(haystack: str, needle: str) -> str:
    """Needs two things."""
    return f"{haystack} {needle}"


if __name__ == "__main__":
    if sys.argv[1:] == ["broken"]:
        sys.exit("no index here: build it first")
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
