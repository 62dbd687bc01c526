"""What `ragauge init --from KIND` writes under `system:`."""

from __future__ import annotations

#: Kind → the lines of a settings file, and the extra that it needs ("" for none).
SYSTEMS: dict[str, tuple[str, str]] = {
    "langchain": (
        """\
system:
  langchain:
    object: "python:my_app.rag:chain"   # a runnable, retriever or vector store; or a function that makes one
    # input: question                   # the chain's input key, where its schema does not say
    # answer: answer                    # the output's key, where it is not a usual one
    # contexts: context
    # fields: {document: source, root: docs}   # metadata that names the document; root is cut off
""",
        "langchain",
    ),
    "llamaindex": (
        """\
system:
  llamaindex:
    object: "python:my_app.rag:query_engine"   # a query engine, chat engine, retriever or index
    # fields: {document: file_name}            # metadata that names the document
""",
        "llamaindex",
    ),
    "haystack": (
        """\
system:
  haystack:
    object: "python:my_app.rag:pipeline"
    # input: {retriever: {query: "{question}"}, prompt: {question: "{question}"}}
    # answer: llm.replies.0             # component.output, where the pipeline does not end in an AnswerBuilder
    # contexts: ranker.documents
""",
        "haystack",
    ),
    "http": (
        """\
system:
  http:
    url: http://localhost:8000/ask
    # headers: {Authorization: "Bearer ${MY_TOKEN}"}   # read from the environment, never written down
    body: {question: "{question}"}      # any JSON; also {id}, {history}, {context}
    response:                           # where in the reply it stands, as JSONPath
      answer: $.answer
      contexts: $.contexts[*]
      chunk: {id: id, document: document, text: text, score: score}
    # stream: sse                       # or ndjson; then:
    # delta: $.choices[0].delta.content
    timeout_s: 60
    retries: 3
""",
        "http",
    ),
    "program": (
        """\
system:
  program:
    command: [python, answer.py]        # reads {"id", "question", "history"} and prints {"answer", "contexts"}
    mode: each                          # each: one process per question; lines: one line of JSON each, kept running
    timeout_s: 120
""",
        "http",
    ),
    "mcp": (
        """\
system:
  mcp:
    command: [python, server.py]        # a stdio server; or url: http://localhost:8000/mcp
    tool: search
    # arguments: {query: "{question}", limit: 5}
    # text: contexts                    # what text blocks of a result are: contexts or answer
""",
        "mcp",
    ),
    "callable": (
        """\
system:
  callable:
    function: "python:my_project.rag:answer"
""",
        "",
    ),
    "replay": (
        """\
system:
  replay:
    path: answers.jsonl
""",
        "",
    ),
}

_REST = """
judge: embedded            # no key, no network (embedded:encoder: slower, agrees more with people); or none

# metrics: [recall@5, faithfulness, correctness]    # default: everything that the golden set can feed
thresholds:
  profile: general         # general | high_stakes
run:
  concurrency: 8
  timeout_s: 120           # for one answer
  seed: 0
"""


def settings_text(kind: str) -> str:
    """A settings file for a system of this kind."""
    head = (
        "# Settings of ragauge; paths are relative to this file. Try it: `ragauge ask`. Measure it: `ragauge run`.\n"
        "golden: golden.yaml        # questions, reference answers, gold documents\n\n"
        f"# The thing under test: docs/how-to/{_page(kind)}.md\n"
    )
    return head + SYSTEMS[kind][0] + _REST


def _page(kind: str) -> str:
    return {"mcp": "mcp-system", "callable": "systems", "replay": "systems"}.get(kind, kind)
