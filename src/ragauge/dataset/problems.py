"""What is wrong with a file, collected: up to twenty problems in one error, and warnings counted by kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragauge.errors import InputError

#: How many problems are collected before reading stops.
MAX_PROBLEMS = 20


@dataclass
class Problems:
    """The problems of one file, in the order found."""

    file: str | None
    found: list[InputError] = field(default_factory=list)

    def add(self, problem: InputError) -> None:
        """Keep `problem`; raises everything collected once there are `MAX_PROBLEMS`."""
        self.found.append(problem)
        if len(self.found) >= MAX_PROBLEMS:
            raise InputError.several(self.found, unread=True)

    def add_if_room(self, problem: str, found: str) -> None:
        """Keep a problem of the whole file, which has no line."""
        self.found.append(InputError(problem, file=self.file, hint=f"The records have: {found}."))

    def raise_any(self) -> None:
        """Raise everything collected, if anything."""
        if self.found:
            raise InputError.several(self.found)


@dataclass
class Warnings:
    """Warnings by kind: each is said once, with how often and where first."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, int | None] = field(default_factory=dict)

    def add(self, message: str, line: int | None = None) -> None:
        """Count `message`; `line` is where it happened."""
        self.counts[message] = self.counts.get(message, 0) + 1
        self.first.setdefault(message, line)

    def messages(self) -> tuple[str, ...]:
        """One sentence for each kind, in the order in which they first happened."""
        return tuple(self._said(message, count) for message, count in self.counts.items())

    def _said(self, message: str, count: int) -> str:
        line = self.first[message]
        if line is None:
            return message if count == 1 else f"{message} ({count} times)"
        return f"{message} (line {line})" if count == 1 else f"{message} ({count} times, first at line {line})"
