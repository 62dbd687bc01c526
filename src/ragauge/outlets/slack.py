"""An alert as a Slack message: what is low, the worst rows, links; within Slack's limits, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragauge.outlets.alert import Alert, Group, Measure
from ragauge.text.normalise import clean, display

#: Slack's limits in characters and blocks; the total is not documented, longer ones are refused from about 13 200.
SECTION, FIELD, N_FIELDS, HEADER, N_BLOCKS, N_BUTTONS, BUTTON, TOTAL = 3000, 2000, 10, 150, 50, 25, 75, 10_000
#: How much of an entry's text is shown, how many entries of a group, how many groups.
ENTRY, N_ENTRIES, N_GROUPS = 160, 5, 3

Message = dict[str, Any]


def message(alert: Alert, mention: str | None = None) -> Message:
    """`{"text", "blocks"}` for an incoming webhook. `mention`: Slack's own code of whom to call, as it is."""
    head = _cut(f"{sign(alert)} {_plain(alert.title, HEADER)}", HEADER)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": head, "emoji": True}},
    ]
    facts = [escape(line) for fact in alert.facts[:8] if (line := _plain(fact, 300))]
    if facts:
        blocks.append(_section("\n".join(facts)))
    shown = alert.measures[:N_FIELDS]
    if shown:
        fields = [{"type": "mrkdwn", "text": _cut(_field(measure), 400)} for measure in shown]
        blocks.append({"type": "section", "fields": fields})
    if len(alert.measures) > len(shown):
        blocks.append(_context(f"and {len(alert.measures) - len(shown)} more"))
    end: list[dict[str, Any]] = []
    if alert.links:
        end.append({"type": "actions", "elements": [_button(link.label, link.url) for link in alert.links[:5]]})
    if mention:
        end.append(_context(mention))
    left = TOTAL - sum(map(len, _texts([*blocks, *end])))
    for group in alert.groups[:N_GROUPS]:
        if group.entries and left > HEADER:  # escaping can make a text five times as long
            blocks.append(_section(_group(group), left))
            left -= len(blocks[-1]["text"]["text"])
    return checked({"text": escape(head), "blocks": [*blocks, *end]})


def sign(alert: Alert) -> str:
    """Red, yellow, green."""
    if alert.state == "ok":
        return "🟢"
    return {"alert": "🔴", "warning": "🟡", "info": "🔵"}[alert.severity]


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
        any(len(block.get("elements", ())) > N_BUTTONS for block in blocks) and "too many buttons",
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


def _field(measure: Measure) -> str:
    mark = {"broken": "✗", "good": "✓"}.get(measure.verdict, "·")
    name, value = escape(_plain(measure.name, 60)), escape(_plain(measure.value, 60))
    return f"*{mark} {name}* {value}\n{escape(_plain(measure.note, 160))}".rstrip()


def _group(group: Group) -> str:
    lines = [f"*{escape(_plain(group.title, 80))}*"]
    for entry in group.entries[:N_ENTRIES]:
        note = f" ({escape(_plain(entry.note, 80))})" if entry.note else ""
        lines.append(f"• *{escape(_plain(entry.name, 60))}* {escape(_plain(entry.text, ENTRY))}{note}")
    return "\n".join(lines)


def _section(text: str, limit: int = SECTION) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, min(limit, SECTION))}}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _button(label: str, url: str) -> dict[str, Any]:
    return {"type": "button", "text": {"type": "plain_text", "text": _plain(label, BUTTON) or "Open"}, "url": url}


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if "text" in block:
            yield block["text"]["text"]
        for part in (*block.get("fields", ()), *block.get("elements", ())):
            yield part["text"] if isinstance(part["text"], str) else part["text"]["text"]
