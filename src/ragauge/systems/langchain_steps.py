"""What LangChain's callbacks say while a question is answered: retrievers, models, who is part of whom."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ragauge.systems.calling import Recorder, Span


def step_handler(recorder: Recorder, passages: Callable[[Any], Any]) -> Any:
    """A callback handler that writes into `recorder`. Runs call it from several threads; lists take that."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Steps(BaseCallbackHandler):  # type: ignore[misc]
        run_inline = True
        raise_error = False

        def __init__(self) -> None:
            self.parents: dict[Any, Any] = {}
            self.started: dict[Any, tuple[str, str, float]] = {}
            self.models: dict[Any, float] = {}

        def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **more: Any) -> None:
            self.parents[run_id] = more.get("parent_run_id")

        def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **more: Any) -> None:
            self.parents[run_id] = more.get("parent_run_id")

        def on_retriever_start(self, serialized: Any, query: str, *, run_id: Any, **more: Any) -> None:
            self.parents[run_id] = more.get("parent_run_id")
            name = more.get("name") or (serialized or {}).get("name") or "retriever"
            self.started[run_id] = (str(name), query, time.perf_counter())

        def on_retriever_end(self, documents: Any, *, run_id: Any, **more: Any) -> None:
            name, query, began = self.started[run_id]
            span = Span(began, time.perf_counter())
            recorder.step(name, query, passages(list(documents)), span, inner=self._inside_another(run_id))

        def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: Any, **more: Any) -> None:
            self.parents[run_id] = more.get("parent_run_id")
            self.models[run_id] = time.perf_counter()

        def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **more: Any) -> None:
            self.on_llm_start(serialized, messages, run_id=run_id, **more)

        def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
            began = self.models.get(run_id, time.perf_counter())
            if not self._inside_another(run_id):  # a model that rewrites queries is part of retrieval
                recorder.generating.append(Span(began, time.perf_counter()))
            recorder.used(*_tokens(response))

        def _inside_another(self, run_id: Any) -> bool:
            parent = self.parents.get(run_id)
            while parent is not None:
                if parent in self.started:
                    return True
                parent = self.parents.get(parent)
            return False

    return Steps()


def _tokens(response: Any) -> tuple[int, int, str | None]:
    """Tokens in, tokens out, and the model's name, where the library says them."""
    message = getattr(response.generations[0][0], "message", None) if response.generations else None
    usage = getattr(message, "usage_metadata", None) or {}
    told = getattr(message, "response_metadata", None) or {}
    counted = (response.llm_output or {}).get("token_usage") or {}
    tokens_in = usage.get("input_tokens", counted.get("prompt_tokens", 0))
    tokens_out = usage.get("output_tokens", counted.get("completion_tokens", 0))
    name = told.get("model_name") or told.get("model") or (response.llm_output or {}).get("model_name")
    return int(tokens_in or 0), int(tokens_out or 0), None if name is None else str(name)
