"""Tokens guessed from characters: for limits, budgets and estimates before the endpoint has counted them."""

from __future__ import annotations

import json

from ragauge.core.provider import Request


def guess_tokens(text: str) -> int:
    """About four ASCII characters to a token, and one token to each other character (an upper guess, not a count).

    >>> guess_tokens("twelve chars"), guess_tokens("检索增强")
    (3, 4)
    """
    if text.isascii():
        return -(-len(text) // 4)
    plain = sum(map(str.isascii, text))
    return -(-plain // 4) + len(text) - plain


def guess_prompt_tokens(request: Request) -> int:
    """What the request will be counted as: its words, and the schema if it sends one."""
    schema = 0 if request.shape is None else guess_tokens(json.dumps(request.shape.schema))
    return guess_tokens(request.system) + guess_tokens(request.user) + schema
