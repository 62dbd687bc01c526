# ruff: noqa: E501 (data)
"""The cases of the self-test: answers about a fictional product's documentation, with known verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragauge.core.sample import RetrievedChunk

Kind = Literal["good", "hallucinated", "contradicted", "partly", "abstention", "citations", "sentences"]


@dataclass(frozen=True)
class Case:
    """One answer with what a judge ought to say of it. Which fields count depends on `kind`."""

    name: str
    kind: Kind
    answer: str
    chunks: tuple[RetrievedChunk, ...] = ()
    question: str = ""
    abstention: str = ""
    cited_ok: tuple[bool, ...] = ()
    n_sentences: int = 0

    def said(self) -> str:
        """What is expected, in words."""
        return {
            "good": "every claim supported",
            "hallucinated": "no claim supported",
            "contradicted": "at least one claim not supported",
            "partly": "some claims supported, some not",
            "abstention": self.abstention,
            "citations": ", ".join("supported" if ok else "not supported" for ok in self.cited_ok),
            "sentences": f"{self.n_sentences} sentences, no claim made of markers",
        }[self.kind]


def _chunks(*texts: str) -> tuple[RetrievedChunk, ...]:
    return tuple(
        RetrievedChunk(id=f"k{n}", document="manual", text=text, rank=n) for n, text in enumerate(texts, start=1)
    )


CACHE = "The Orion cache stores up to 512 MB by default. Entries expire after 30 minutes unless a custom TTL is given. Writes are asynchronous."
LIMITS = "The API rate limit is 100 requests per minute for free accounts and 1,000 requests per minute for paid accounts. When the limit is exceeded, the server returns status 429 with a Retry-After header."
BACKUP = "The backup job runs nightly at 02:00 UTC and keeps the last 14 snapshots. Snapshots are encrypted with AES-256 and stored in the Frankfurt region."
DEPLOY = "Run `orionctl deploy --wait` to roll out a release. The command requires the `deployer` role. Use `orionctl rollback` to return to the previous release."
AUTH = "API keys are created on the Settings page. A key expires after 90 days. Keys cannot be recovered after they are closed; create a new key instead."
ALL = _chunks(CACHE, LIMITS, BACKUP, DEPLOY, AUTH)

CASES: tuple[Case, ...] = (
    Case("copied sentence", "good", "Entries expire after 30 minutes unless a custom TTL is given.", ALL),
    Case("close paraphrase", "good", "By default, the Orion cache can store up to 512 MB.", ALL),
    Case("two facts of one chunk", "good", "The backup job runs nightly at 02:00 UTC and keeps the last 14 snapshots.", ALL),
    Case("facts of two chunks", "good", "Paid accounts have a limit of 1,000 requests per minute. API keys expire after 90 days.", ALL),
    Case("unit converted", "good", "Entries expire after half an hour unless a custom TTL is given.", ALL),
    Case("with citation markers", "good", "Snapshots are encrypted with AES-256. [3] Writes are asynchronous. [1]", ALL),
    Case("a command", "good", "To roll out a release, run `orionctl deploy --wait`. [4]", ALL),
    Case("invented feature", "hallucinated", "The Orion cache was written in Rust by a team in Lisbon.", ALL),
    Case("invented price", "hallucinated", "A commercial licence costs 49 euros each month and includes telephone support.", ALL),
    Case("other product", "hallucinated", "Kafka topics are replicated across three brokers with rack awareness.", ALL),
    Case("wrong number", "contradicted", "The Orion cache stores up to 256 MB by default.", ALL),
    Case("wrong unit", "contradicted", "Entries expire after 30 hours unless a custom TTL is given.", ALL),
    Case("wrong opposite", "contradicted", "Writes to the Orion cache are synchronous.", ALL),
    Case("wrong negation", "contradicted", "Snapshots are not encrypted with AES-256.", ALL),
    Case("wrong place", "contradicted", "Snapshots are stored in the London region.", ALL),
    Case("wrong status", "contradicted", "When the limit is exceeded, the server returns status 503 with a Retry-After header.", ALL),
    Case("right and invented", "partly", "The backup job keeps the last 14 snapshots. Each snapshot is verified by a human auditor in Toronto.", ALL),
    Case("right and wrong number", "partly", "API keys are created on the Settings page. A key expires after 30 days.", ALL),
    Case("long right, short wrong", "partly", "Run `orionctl deploy --wait` to roll out a release. The command requires the `deployer` role. It also costs two credits.", ALL),
    Case("plain refusal", "abstention", "I don't know.", question="Who founded Orion?", abstention="declined"),
    Case("documents do not say", "abstention", "The provided documents do not mention who founded Orion.", question="Who founded Orion?", abstention="declined"),
    Case("answers half", "abstention", "The cache stores up to 512 MB by default. I could not find whether it can be raised.", question="How large is the cache, and can it be raised?", abstention="partial"),
    Case("speaks of a refusal", "abstention", "The server returns \"I don't know\" when the topic is missing.", question="What does the server return?", abstention="answered"),
    Case("plain answer", "abstention", "The server returns status 429.", question="What does the server return?", abstention="answered"),
    Case("all citations right", "citations", "Writes are asynchronous [1]. Snapshots are encrypted with AES-256.[3]", ALL, cited_ok=(True, True)),
    Case("one citation points at the wrong chunk", "citations", "Writes are asynchronous [1]. Snapshots are encrypted with AES-256 [2].", ALL, cited_ok=(True, False)),
    Case("two sources for one sentence", "citations", "The limit is 100 requests per minute for free accounts. [1][2]", ALL, cited_ok=(True,)),
    Case("a trailing marker is no sentence", "sentences", "Writes are asynchronous. [1]", n_sentences=1),
    Case("markers between sentences", "sentences", "Writes are asynchronous.[1][2] Snapshots are encrypted. [3]\n\n[4]", n_sentences=2),
)  # fmt: skip
