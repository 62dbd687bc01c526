"""A run as a Slack message: what is low, the worst rows, a link; within Slack's limits, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ragauge.core.run import Manifest, MetricResult, Summary
from ragauge.errors import UsageError
from ragauge.report.words import count, counts, interval, number, threshold
from ragauge.text.normalise import clean, display

#: Slack's limits in characters and blocks; the total is not documented, longer ones are refused from about 13 200.
SECTION, FIELD, N_FIELDS, HEADER, N_BLOCKS, URL, TOTAL = 3000, 2000, 10, 150, 50, 3000, 10_000
#: Worst rows named, and how much of each question.
N_WORST, QUESTION = 5, 160

Message = dict[str, Any]


def message(
    manifest: Manifest,
    summary: Summary,
    outcomes: Mapping[str, int],
    questions: Mapping[str, str],
    link: str | None = None,
) -> Message:
    """`{"text", "blocks"}` for an incoming webhook.

    `outcomes`: how many rows are good, bad and unknown. `questions`: id → question, for the worst rows. `link`: an
    http(s) address where the report can be read.
    """
    low = [r for r in summary.metrics.values() if r.verdict in ("below", "broken")]
    n_errors = sum(result.n_errors for result in summary.metrics.values())
    low.sort(key=lambda result: result.verdict != "broken")
    misses = "1 metric misses its threshold" if len(low) == 1 else f"{len(low)} metrics miss their thresholds"
    state = misses if low else "no metric misses its threshold"
    sign = "🔴" if any(r.verdict == "broken" for r in low) else ("🟡" if low or n_errors else "🟢")
    head = f"{sign} {_plain(manifest.dataset.name, 60)}: {state}"
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(head, HEADER), "emoji": True}},
        _section(_overview(manifest, summary, outcomes, n_errors)),
    ]
    shown = low[:N_FIELDS]
    if shown:
        fields = [{"type": "mrkdwn", "text": _cut(_field(result), 400)} for result in shown]
        blocks.append({"type": "section", "fields": fields})
    if len(low) > len(shown):
        blocks.append(_context(f"and {len(low) - len(shown)} more miss theirs"))
    worst = list(_worst(low, questions))
    if worst:
        blocks.append(_section("*Worst rows*\n" + "\n".join(worst)))
    if link is not None:
        blocks.append(_button(link))
    text = f"{head}. {outcomes.get('bad', 0)} of {summary.n_rows} rows fail."
    return checked({"text": escape(text), "blocks": blocks})


def checked(found: Message) -> Message:
    """The message itself, if Slack's limits allow it. ValueError: a bug of ours, never somebody's data."""
    blocks = found["blocks"]
    texts = list(_texts(blocks))
    problems = [
        not found["text"] and "no text",
        len(blocks) > N_BLOCKS and f"{len(blocks)} blocks",
        any(len(text) > SECTION for text in texts) and "a text that is too long",
        sum(map(len, texts)) > TOTAL and "too many characters",
        any(len(block.get("fields", ())) > N_FIELDS for block in blocks) and "too many fields",
        any(len(field["text"]) > FIELD for block in blocks for field in block.get("fields", ())) and "a long field",
        any(not text for text in texts) and "an empty text",
    ]
    if any(problems):
        raise ValueError(f"this is no message for Slack: {', '.join(str(problem) for problem in problems if problem)}")
    return found


def escape(text: str) -> str:
    """Text as Slack shows it as text: no mentions, no links, no markup characters of its own.

    >>> escape("<!channel> & <http://x|y> *b*")
    '&lt;!channel&gt; &amp; &lt;http://x|y&gt; ∗b∗'
    """
    line = display(clean(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line.translate({ord("*"): "∗", ord("_"): "_\u200b", ord("~"): "∼", ord("`"): "ˋ"})


def _plain(text: str, limit: int) -> str:
    """One line of at most `limit` characters."""
    return _cut(" ".join(display(clean(text[: 8 * limit])).split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _overview(manifest: Manifest, summary: Summary, outcomes: Mapping[str, int], n_errors: int) -> str:
    lines = [
        f"*{outcomes.get('bad', 0)}* of {count(summary.n_rows, 'row')} fail"
        + (f", *{outcomes['unknown']}* could not be judged" if outcomes.get("unknown") else ""),
        f"Run {escape(_plain(manifest.run, 100))}, system {escape(_plain(manifest.system.name, 60))}",
    ]
    if n_errors:
        lines.append(f"{count(n_errors, 'score')} missing because of errors")
    if not summary.complete:
        lines.append("The run is not finished.")
    return "\n".join(lines)


def _field(result: MetricResult) -> str:
    estimate = "" if result.estimate is None else f" ({interval(result.estimate)})"
    missing = f"\nnot scored: {escape(counts(result.unscored))}" if result.n_errors else ""
    mark = "✗" if result.verdict == "broken" else "·"
    goal = escape(threshold(result))
    return (
        f"*{mark} {escape(_plain(result.key, 60))}* {number(result.value)}{estimate}\n{goal}, n = {result.n}{missing}"
    )


def _worst(low: Sequence[MetricResult], questions: Mapping[str, str]) -> Iterator[str]:
    """The rows that stand among the worst of most low metrics."""
    metrics: dict[str, list[str]] = {}
    for result in low:
        for item in result.worst:
            metrics.setdefault(item, []).append(result.key)
    ranked = sorted(metrics, key=lambda item: (-len(metrics[item]), list(metrics).index(item)))
    for item in ranked[:N_WORST]:
        named = _plain(", ".join(metrics[item]), 80)
        question = _plain(questions.get(item, ""), QUESTION)
        yield f"• *{escape(_plain(item, 60))}* {escape(question)} ({escape(named)})"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, SECTION)}}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _button(link: str) -> dict[str, Any]:
    parts = urlsplit(link)
    if parts.scheme not in ("http", "https") or not parts.netloc or len(link) > URL:
        raise UsageError(f"--link {link[:80]!r} is no address that Slack can open", hint="It must start with https://")
    label = {"type": "plain_text", "text": "Open report"}
    return {"type": "actions", "elements": [{"type": "button", "text": label, "url": link}]}


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if "text" in block:
            yield block["text"]["text"]
        for part in (*block.get("fields", ()), *block.get("elements", ())):
            yield part["text"] if isinstance(part["text"], str) else part["text"]["text"]
