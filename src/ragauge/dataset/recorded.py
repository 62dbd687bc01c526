"""Recorded outputs: what a system answered to each question, as a stream of samples in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from ragauge.core.run import DatasetInfo
from ragauge.core.sample import GoldenItem, Labels, Level, Response, Sample, is_blank
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.fingerprint import sample_fingerprint, set_fingerprint
from ragauge.dataset.golden import GoldenSet
from ragauge.dataset.problems import Warnings
from ragauge.dataset.records import RecordReader
from ragauge.dataset.sources import Source, open_source
from ragauge.errors import InputError
from ragauge.text.normalise import normalise

#: How many records with ungraded-level labels are looked at to decide whether `relevance` names chunks or documents.
_LEVEL_SAMPLE = 1000
_UNRESOLVED = Labels()
#: What a table writes in the column `error` of a row without one.
_NO_ERROR = frozenset(("", "false", "no", "0", "0.0", "none", "null", "nan", "<na>", "nat"))


def recorded_failure(response: Response) -> str | None:
    """What a record says of why there is no answer (`error`: a text, or an object with a message); None otherwise."""
    said = response.metadata.get("error")
    if isinstance(said, Mapping):
        told = {name: value for name, value in said.items() if not _says_nothing(value)}
        said = told.get("message", told)
    if _says_nothing(said) or not is_blank(response.answer):
        return None
    return "the record says that there was an error" if said is True else f"the record says: {str(said)[:500]}"


def _says_nothing(error: Any) -> bool:
    """Whether an `error` means that there was none, as tables of truth values, counts or empty cells write it."""
    return not error or error != error or str(error).strip().casefold() in _NO_ERROR


@dataclass(frozen=True)
class Scan:
    """What one reading of the whole file found. Holds a few words for each id, no texts."""

    n: int
    fields: frozenset[str]
    items: Mapping[str, str]  # id (with #repeat from the second on) → fingerprint of item and response
    warnings: tuple[str, ...]
    unmatched: tuple[str, ...]  # recorded ids that the golden set has not
    missing: tuple[str, ...]  # golden ids that nothing was recorded for
    n_verified: int


class SampleStream:
    """Samples in input order. Each iteration reads the source from its beginning, a record at a time.

    After a bad record iterating yields nothing more, looks for further problems and raises one `InputError` with up to
    20 of them. `scan()` reads everything once beforehand, so that a bad file is refused before anything is paid for;
    `n`, `fields`, `fingerprint` and `items` come from it, and ask for it when it has not been done (so they are
    available before, during and after iterating). `warnings` are those of the scan or of the last complete iteration,
    whichever was later; before either they are empty.
    """

    def __init__(
        self,
        source: Source,
        *,
        field_map: Mapping[str, str] | None = None,
        limit: int | None = None,
        golden: GoldenSet | None = None,
        corpus: CorpusIndex | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError("the limit must be at least 1", found=limit)
        self._source, self._field_map, self._limit = source, field_map, limit
        self._golden, self._corpus = golden, corpus
        self.name, self.path = source.name, source.path
        self.warnings: tuple[str, ...] = ()
        RecordReader.open("recorded", None, field_map)  # a wrong field_map is refused at once

    def __iter__(self) -> Iterator[Sample]:
        """The samples, labels resolved."""
        reading = _Reading(self._golden, self._field_map, self._source)
        level = self._relevance_level
        for sample in reading.samples(self._limit):
            if sample.labels == _UNRESOLVED:
                labels = resolve_labels(sample.item, self._corpus, sample.response, relevance_level=level)
                sample = sample.model_copy(update={"labels": labels})
            yield sample
        self.warnings = reading.messages()

    def peek(self, n: int = 5) -> list[Sample]:
        """The first `n` samples; does not disturb an iteration."""
        warnings = self.warnings
        found = list(islice(iter(self), n))
        self.warnings = warnings
        return found

    def scan(self) -> Scan:
        """Read everything once: check it, count it, fingerprint it. Raises what iterating would raise. Done once."""
        return self._scan

    @cached_property
    def _scan(self) -> Scan:
        reading = _Reading(self._golden, self._field_map, self._source)
        items: dict[str, str] = {}
        n = n_verified = 0
        for sample in reading.samples(self._limit):
            key = f"{sample.id}#{sample.repeat}" if sample.repeat else sample.id
            items[key] = sample_fingerprint(sample.item, sample.response)
            n += 1
            n_verified += sample.item.verified
        if n == 0:
            raise InputError("there are no records", file=self._source.where)
        self.warnings = reading.messages()
        return Scan(
            n,
            frozenset(reading.fields()),
            items,
            self.warnings,
            tuple(reading.unmatched),
            reading.missing(),
            n_verified,
        )

    @cached_property
    def _relevance_level(self) -> Level | None:
        """Whether the ids in `relevance` are chunks or documents: decided once, by what most of the first 1 000 match.

        Deciding it question by question would give the questions whose evidence was missed another level than the rest.
        """
        if self._corpus is not None:
            return None
        n_chunks = n_documents = n_seen = 0
        reading = _Reading(self._golden, self._field_map, self._source)
        for sample in islice(reading.samples(self._limit), _LEVEL_SAMPLE):
            if not sample.item.relevance or sample.response.context is None:
                continue
            n_seen += 1
            named, chunks = set(sample.item.relevance), sample.response.context.chunks
            n_chunks += len(named & {chunk.id for chunk in chunks})
            n_documents += len(named & {chunk.document for chunk in chunks})
        if n_seen == 0:
            return None
        return "doc" if n_documents > n_chunks else "chunk"

    @property
    def n(self) -> int:
        """How many samples there are."""
        return self.scan().n

    @property
    def fields(self) -> frozenset[str]:
        """Fields of `GoldenItem` and `Response` that at least one record has; `context_text` when any chunk has text.

        `reference` stands for the item's `answer`, `answer` for the response's.
        """
        return self.scan().fields

    @property
    def fingerprint(self) -> str:
        """Content hash over all samples; independent of their order and of the file format."""
        return set_fingerprint(self.scan().items)

    @property
    def items(self) -> Mapping[str, str]:
        """Id → content hash of item and response."""
        return self.scan().items

    def info(self) -> DatasetInfo:
        """The file's card, for manifests."""
        scan = self.scan()
        return DatasetInfo(
            name=self.name,
            path=None if self.path is None else str(self.path),
            fingerprint=self.fingerprint,
            n_items=scan.n,
            n_verified=scan.n_verified,
            items=dict(scan.items),
        )


#: What a record may say of its question that its golden item says too.
_OWN = {"answer": "a reference", "chunks": "relevant chunks", "sources": "relevant documents"}


@dataclass
class _Reading:
    """One pass over a source."""

    golden: GoldenSet | None
    field_map: Mapping[str, str] | None
    source: Source
    unmatched: list[str] = field(default_factory=list)
    matched: dict[tuple[str, int], int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reader = RecordReader.open("recorded", self.source.where, self.field_map)
        self.reader.known = {item.id: item.question for item in self.golden or ()}
        self.by_question: dict[str, list[GoldenItem]] = {}
        for item in self.golden or ():
            self.by_question.setdefault(normalise(item.question), []).append(item)

    def samples(self, limit: int | None) -> Iterator[Sample]:
        """The samples of the first `limit` records. After a problem only further problems are looked for."""
        reader = self.reader
        n_read = 0
        for row in self.source.read():
            if limit is not None and n_read >= limit:
                reader.problems.raise_any()
                return
            n_read += 1
            if isinstance(row, InputError):
                reader.problems.add(row)
                continue
            sample = reader.read(row)
            if sample is not None and self.golden is not None:
                sample = self._join(sample, self.golden, row.line)
            if sample is not None and not reader.problems.found:
                yield sample
        reader.finish()

    def _join(self, sample: Sample, golden: GoldenSet, line: int | None) -> Sample | None:
        """With the golden item of a record: by id, else by the question's words; without one it keeps its own item."""
        item, warnings = sample.item, self.reader.warnings
        found = golden.by_id(item.id) if item.id in golden else None
        asked = normalise(item.question)
        if found is not None and normalise(found.question) != asked:
            warnings.add(
                "the record has the id of a golden item but asks another question; they are joined by id", line
            )
        if found is None:
            same = self.by_question.get(asked, [])
            found = same[0] if len(same) == 1 else None
        if found is None:
            self.unmatched.append(item.id)
            warnings.add("the record is not in the golden set, neither by id nor by question", line)
            return sample
        key = (found.id, sample.repeat)
        if key in self.matched:
            self.reader.problems.add(
                InputError(
                    f"the golden item {found.id!r} is answered twice, on lines {self.matched[key]} and {line}",
                    file=self.reader.problems.file,
                    line=line,
                    hint="Several answers to one question need a `repeat` number (0, 1, …).",
                )
            )
            return None
        self.matched[key] = line
        for name, what in _OWN.items():
            own, theirs = getattr(item, name), getattr(found, name)
            if own and own != theirs and not (isinstance(own, str) and normalise(own) == normalise(theirs or "")):
                warnings.add(f"the record brings {what} of its own; what the golden set says counts", line)
        return sample.model_copy(update={"item": found})

    def missing(self) -> tuple[str, ...]:
        """Golden ids that no record answered."""
        if self.golden is None:
            return ()
        answered = {name for name, _ in self.matched}
        return tuple(item.id for item in self.golden if item.id not in answered)

    def messages(self) -> tuple[str, ...]:
        """The warnings of this pass."""
        missing = self.missing()
        extra = Warnings()
        if missing:
            names = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            extra.add(f"nothing was recorded for {len(missing)} of {len(self.golden or ())} golden items: {names}")
        return (*self.reader.warnings.messages(), *extra.messages())

    def fields(self) -> set[str]:
        """The fields present, with those of the golden items joined."""
        found = set(self.reader.fields)
        if self.golden is not None:
            for item in self.golden:
                found |= {
                    name for name in item.model_fields_set - {"answer"} if getattr(item, name) not in (None, (), {})
                }
                if item.answer is not None:
                    found.add("reference")
        return found


def read_samples(
    data: str | os.PathLike[str] | Iterable[Any] | Any,
    *,
    field_map: Mapping[str, str] | None = None,
    limit: int | None = None,
    golden: GoldenSet | None = None,
    corpus: CorpusIndex | None = None,
    name: str | None = None,
) -> SampleStream:
    """Recorded outputs as a stream of samples.

    `data`: everything that `load_golden` reads. JSON Lines, CSV, Parquet and JSON arrays are streamed; an iterator in
    memory is made a list. `field_map` maps their names to ours. With `golden`, records are joined to golden items by
    id, else by the question's words; what matches nothing is kept with its own labels and reported. With `corpus`,
    evidence is resolved against it instead of against what was retrieved.
    """
    return SampleStream(open_source(data, name), field_map=field_map, limit=limit, golden=golden, corpus=corpus)
