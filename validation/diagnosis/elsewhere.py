"""Faults of another make, in other corpora: what the rules were not looked at with when they were written first.

    python validation/diagnosis/elsewhere.py              # packaged judge, writes RESULTS-elsewhere.md
    python validation/diagnosis/elsewhere.py SET …        # some sets only: prints
    python validation/diagnosis/elsewhere.py --cache DIR --keep DIR  # as in seeded.py

SQuAD 2.0 (short references, an article is a document and a paragraph a chunk) and CLAPnq (long references, a passage is
a document of several chunks), as they stand beside the checkout in `shared/judgedata/retrieval`. Answers are the gold
sentences of the texts, so they are worded unlike the references; wrong ones are made of other true sentences of the
corpus, of swapped numbers, of refusals in other words. Deterministic.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import faults
import seeded
from faults import Fault, World, answerable, has_neighbours, several, unanswerable
from oracle import QuotingGenerator, Truth, holder, quotes_of, said

from ragauge.core.sample import Chunk, Evidence, EvidenceGroup, GoldenItem, Question, RetrievedContext
from ragauge.dataset.evidence import CorpusIndex
from ragauge.dataset.golden import GoldenSet
from ragauge.systems.reference.seams import Generated
from ragauge.text.sentences import split_sentences
from ragauge.text.tokens import content_words

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "judgedata" / "retrieval"
RESULTS = Path(__file__).parent / "RESULTS-elsewhere.md"
N_ANSWERABLE, N_UNANSWERABLE = 120, 20
#: CLAPnq's passages are cut at sentences, into chunks of this many words.
WORDS = 60
REFUSALS = (
    "Unfortunately, the documents I was given do not contain an answer to that.",
    "I'm sorry, but I can't answer this from the provided context.",
    "There is not enough information in the sources to say.",
)


@dataclass(frozen=True)
class Elsewhere:
    """One corpus with its questions. `by_chunk`: chunk ids are the labels, and the quotes are not known."""

    name: str
    golden: GoldenSet
    chunks: tuple[Chunk, ...]
    by_chunk: bool = False

    def healthy(self, golden: GoldenSet, cache: str) -> World:
        """Hybrid search over it, k = 8, a generator that says the gold sentences that it is given."""
        settings = {
            "corpus": str(FOLDER / self.name / "corpus.jsonl.gz"), "retrieval": "hybrid", "k": faults.K,
            "candidates": 20, "store": "memory", "embedding_cache": cache, "splitter": "none",
        }  # fmt: skip
        truth = Truth.of(golden.items)
        return World(golden, truth, list(self.chunks), settings, QuotingGenerator(truth))

    def labelled(self, world: World) -> World:
        """The world after a fault was seeded, with the labels that this set has."""
        if self.by_chunk:
            corpus = CorpusIndex.from_chunks(self.chunks)
            world.golden = GoldenSet(self.name, None, items=tuple(_by_chunk(item, corpus) for item in world.golden))
        return world


def corpus_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def questions_of(name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (FOLDER / name / "questions.jsonl").read_text("utf-8").splitlines()]
    random.Random(f"elsewhere:{name}").shuffle(rows)
    return rows


def squad() -> Elsewhere:
    """Every second article; one question for a paragraph."""
    passages = corpus_of("squad2_dev")
    kept = set(sorted({one["title"] for one in passages})[::2])
    texts = {one["id"]: one["text"] for one in passages if one["title"] in kept}
    chunks = [Chunk(id=name.replace("-", "#"), document=name.rpartition("-")[0], text=t) for name, t in texts.items()]
    chunks = [one.model_copy(update={"id": f"{one.document}#{one.id.rpartition('#')[2]}"}) for one in chunks]
    items: list[GoldenItem] = []
    asked: set[str] = set()
    for row in questions_of("squad2_dev"):
        if row["tags"]["title"] not in kept:
            continue
        if not row["answerable"]:
            items.append(_unanswerable(row))
            continue
        name = row["relevant_ids"][0]
        spans = split_sentences(texts[name])
        quote = next((span.text for span in spans if row["answer"][0] in span.text), None)
        if quote is not None and name not in asked and len(quote.split()) > 5:
            asked.add(name)
            items.append(_item(row, row["answer"][0], [(row["tags"]["title"], quote.strip())]))
    return Elsewhere("squad2_dev", _chosen("squad2_dev", items), tuple(chunks))


def clapnq() -> Elsewhere:
    """Long answers; each gold sentence is a needed passage."""
    chunks: list[Chunk] = []
    texts: dict[str, str] = {}
    for one in corpus_of("clapnq_dev"):
        texts[one["id"]] = one["text"]
        pieces: list[list[str]] = [[]]
        for span in split_sentences(one["text"]):
            if sum(len(text.split()) for text in pieces[-1]) >= WORDS:
                pieces.append([])
            pieces[-1].append(span.text.strip())
        chunks += [
            Chunk(id=f"{one['id']}#{number}", document=one["id"], text=" ".join(piece))
            for number, piece in enumerate(pieces)
        ]
    items: list[GoldenItem] = []
    for row in questions_of("clapnq_dev"):
        if not row["answerable"]:
            items.append(_unanswerable(row))
            continue
        name = row["relevant_ids"][0]
        own = [span.text.strip() for span in split_sentences(texts[name])]
        marked = [" ".join(text.split()) for text in row["tags"]["selected_sentences"]]
        quotes = [text for text in own if " ".join(text.split()) in marked]
        if quotes and len(quotes) == len(marked) <= 3:
            items.append(_item(row, row["answer"], [(name, quote) for quote in quotes]))
    return Elsewhere("clapnq_dev", _chosen("clapnq_dev", items), tuple(chunks))


def mtrag() -> Elsewhere:
    """Questions that stand alone, about manuals and Wikipedia; a passage is a chunk, and the label.

    Answer and reference are the sentence of each passage that shares most words with the set's own reference.
    """
    passages = corpus_of("mtrag_passages")
    texts = {one["id"]: one["text"] for one in passages}
    chunks = tuple(Chunk(id=name, document=name.rsplit("-", 2)[0], text=text) for name, text in texts.items())
    items: list[GoldenItem] = []
    for row in questions_of("mtrag_passages"):
        if not row["tags"].get("standalone"):
            continue
        if not row["answerable"]:
            items.append(_unanswerable(row))
        elif row["answer"] and len(row["relevant_ids"]) <= 2:
            wanted = set(content_words(row["answer"]))
            quotes = []
            for name in row["relevant_ids"]:
                own = [s for span in split_sentences(texts[name]) if 6 <= len((s := span.text.strip()).split()) <= 60]
                if own:
                    best = max(own, key=lambda text: len(wanted & set(content_words(text))))
                    quotes.append((name.rsplit("-", 2)[0], best))
            if len(quotes) == len(row["relevant_ids"]):
                items.append(_item(row, "\n".join(quote for _, quote in quotes), quotes))
    chosen = _chosen("mtrag_passages", items)
    asked = {document for item in chosen for document in item.sources or ()}
    kept = tuple(one for place, one in enumerate(chunks) if one.document in asked or place % 8 == 0)
    return Elsewhere("mtrag_passages", chosen, kept, by_chunk=True)


def _by_chunk(item: GoldenItem, corpus: CorpusIndex) -> GoldenItem:
    if not item.evidence:
        return item
    names = [name for group in item.evidence for part in group.any for name in corpus.resolve(part).chunks[:1]]
    return item.model_copy(update={"evidence": None, "sources": None, "chunks": tuple(dict.fromkeys(names))})


def _item(row: dict[str, Any], answer: str, quotes: Sequence[tuple[str, str]]) -> GoldenItem:
    return GoldenItem(
        id=row["id"].lstrip("-"),
        question=row["question"],
        answer=answer,
        answerable=True,
        sources=tuple(dict.fromkeys(document for document, _ in quotes)),
        evidence=tuple(EvidenceGroup(any=(Evidence(document=d, quote=quote),)) for d, quote in quotes),
    )


def _unanswerable(row: dict[str, Any]) -> GoldenItem:
    return GoldenItem(id=row["id"].lstrip("-"), question=row["question"], answerable=False)


def _chosen(name: str, items: Sequence[GoldenItem]) -> GoldenSet:
    there = [item for item in items if item.answerable][:N_ANSWERABLE]
    absent = [item for item in items if not item.answerable][:N_UNANSWERABLE]
    return GoldenSet(name, None, items=(*there, *absent))


# --- faults of data -----------------------------------------------------------------------------------------------


def other_value(text: str) -> str | None:
    """Every number another one; None where there is none."""
    changed = "".join(str((int(c) + 3) % 10) if c.isdigit() else c for c in text)
    return changed if changed != text else None


def mirrored(world: World) -> None:
    """Nine mirror pages of a chunk that does not answer, for every question, under the question as their title."""
    for place, item in enumerate(world.golden):
        if item.answerable is False:
            continue
        quotes = [quote for alternatives in quotes_of(item) for quote in alternatives]
        other = next(c for c in world.chunks[place * 7 % len(world.chunks) :] if holder(quotes, [c]) is None)
        for number in range(9):
            name = f"mirror{number}/{item.id}"
            world.chunks.append(Chunk(id=f"{name}#0", document=name, text=f"{item.question}\n{other.text}"))


def old_edition(world: World) -> None:
    """The gold chunk as an older edition had it, other numbers in it, under the question as its title."""
    for item in list(world.golden):
        for number, quotes in enumerate(quotes_of(item)):
            found = holder(quotes, world.chunks)
            if found is not None and (text := other_value(found[1].text)) is not None and other_value(quotes[0]):
                name = f"edition-1/{item.id}-{number}"
                world.chunks.append(Chunk(id=f"{name}#0", document=name, text=f"{item.question}\n{text}"))
    world.generator = OldEdition(world.truth)


class OldEdition(QuotingGenerator):
    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        item = self.truth.by_id.get(question.id)
        lines: list[tuple[str, int | None]] = []
        for quotes in quotes_of(item) if item is not None else ():
            old = [text for quote in quotes if (text := other_value(quote)) is not None]
            found = holder(old, context) or holder(quotes, context)
            if found is not None:
                lines.append((found[0], found[1].rank))
        return said(lines) if lines else self.written(question, [], context)


def has_number(*causes: str) -> Callable[[World, GoldenItem], set[str] | None]:
    return lambda world, item: (
        set(causes)
        if item.answerable is not False and all(other_value(quotes[0]) for quotes in quotes_of(item))
        else None
    )


def swapped(field: tuple[str, ...]) -> Callable[[World], None]:
    """Every third item has the fields of the next item, of its own document where there is one."""

    def seed(world: World) -> None:
        there = [item for item in world.golden if item.answerable is not False]
        of = {}
        for place, item in enumerate(there):
            others = [*there[place + 1 :], *there[:place]]
            of[item.id] = next((one for one in others if one.sources == item.sources), others[0])
        chosen = {item.id for item in there[::3]}
        items = [
            item.model_copy(update={name: getattr(of[item.id], name) for name in field}) if item.id in chosen else item
            for item in world.golden
        ]
        world.golden = GoldenSet("swapped", None, items=tuple(items))

    return seed


# --- faults of the generator --------------------------------------------------------------------------------------


@dataclass
class Seeing(QuotingGenerator):
    """Knows the whole corpus, to take sentences out of it."""

    corpus: tuple[Chunk, ...] = ()

    def elsewhere(self, question: Question, context: RetrievedContext) -> str:
        """A true sentence of a document that was not retrieved."""
        shown = {chunk.document for chunk in context}
        order = random.Random(question.id).sample(range(len(self.corpus)), len(self.corpus))
        return next(
            text
            for place in order
            if self.corpus[place].document not in shown and (text := long_sentence(self.corpus[place].text))
        )


def long_sentence(text: str) -> str:
    return next((s for span in split_sentences(text) if 8 <= len((s := " ".join(span.text.split())).split()) <= 30), "")


class Borrowing(Seeing):
    """Right, with a sentence more from somewhere else."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        return said([*((q, c.rank) for q, c in found), (self.elsewhere(question, context), found[0][1].rank)])


class Remembering(Seeing):
    """A sentence from somewhere else in place of the answer."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        return said([(self.elsewhere(question, context), None)]) if found else super().written(question, found, context)


class Mistaken(Seeing):
    """Takes the right sentence, and gets the numbers wrong."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        return said([(other_value(quote) or quote, chunk.rank) for quote, chunk in found])


class Beside(Seeing):
    """A sentence of the first chunk that does not answer."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        gold = {chunk.id for _, chunk in found}
        for chunk in context:
            if chunk.id not in gold and (text := long_sentence(chunk.text)):
                return said([(text, chunk.rank)])
        return super().written(question, found, context)


class Polite(Seeing):
    """Declines, each time in other words; `faults.Seeded` does not say that it did (`silent`)."""

    silent = True

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        return Generated(random.Random(question.id).choice(REFUSALS), abstained=True)


class Obliging(Seeing):
    """Says something out of the first chunk where nothing answers."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        text = next((text for chunk in context if (text := long_sentence(chunk.text))), "Yes.")
        return super().written(question, found, context) if found else said([(text, 1)])


class OffByOne(Seeing):
    """Cites the chunk after the right one."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        return said([(quote, chunk.rank % len(context) + 1) for quote, chunk in found])


class Brief(Seeing):
    """Stops after the first of several facts."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        return super().written(question, found[:1], context)


def generator(kind: type[Seeing]) -> Callable[[World], None]:
    def seed(world: World) -> None:
        world.generator = kind(world.truth, tuple(world.chunks))

    return seed


def declines_by_document(world: World) -> None:
    """Over-cautious, where nothing but the documents is labelled: not to be taken for labels that are too coarse."""
    items = [item.model_copy(update={"evidence": None}) for item in world.golden]
    world.golden = GoldenSet("by document", None, items=tuple(items))
    world.generator = faults.Cautious(world.truth)


FAULTS: tuple[Fault, ...] = (
    Fault("answer chunk cut in two", faults.cut_answers, faults.is_cut, "rechunk"),
    Fault("gold documents missing", faults.drop_documents, faults.needs_dropped, "add_document"),
    Fault(
        "embedder swapped (dense)", faults.swap_embedder,
        answerable("not_retrieved", "retrieved_low", "chunk_missing", "multi_hop_part_missing"), "change_embedder",
    ),
    Fault("k too small", faults.small_k, answerable("retrieved_low"), "larger_k"),
    Fault("mirror pages", mirrored, answerable("crowded_out"), "clean_corpus"),
    Fault("old edition outranks", old_edition, has_number("stale_duplicate"), "remove_stale"),
    Fault("answering chunk missing", faults.drop_answering_chunk, has_neighbours("chunk_missing"), "rechunk"),
    Fault("labels too coarse", faults.coarse_labels, has_neighbours("label_too_coarse"), "label_chunks"),
    Fault("sentence from memory added", generator(Borrowing), answerable("unsupported"), "grounding_prompt"),
    Fault("answers from memory", generator(Remembering), answerable("retrieved_unused"), "grounding_prompt"),
    Fault("wrong numbers", generator(Mistaken), has_number("contradicted"), "grounding_prompt"),
    Fault(
        "answers from a neighbour", generator(Beside), answerable("distracted", "off_topic"), "fewer_chunks",
        settled_by="gold_context",
    ),
    Fault("declines, documents labelled", declines_by_document, answerable("wrong_abstention"), "soften_refusal"),
    Fault("declines in other words", generator(Polite), answerable("wrong_abstention"), "soften_refusal"),
    Fault("obliging", generator(Obliging), unanswerable("answered_unanswerable"), "decline_when_absent"),
    Fault("citations off by one", generator(OffByOne), answerable("miscited"), "cite_each_statement"),
    Fault("stops after the first fact", generator(Brief), several("incomplete"), "ask_for_all_parts"),
    Fault("references of other questions", swapped(("answer", "claims")), faults.third, "fix_labels"),
    Fault("evidence of other questions", swapped(("evidence", "sources")), faults.third, "fix_labels"),
)  # fmt: skip


HEAD = """# Seeded faults of another make, in other corpora, with the packaged judge

Written by `validation/diagnosis/elsewhere.py`; deterministic; it says what each fault is. One fault at a time is put
into the reference pipeline (hybrid search, k = 8). Answers are the gold sentences of the texts; SQuAD's references are
spans, CLAPnq's were written by people, MTRAG's are those sentences. MTRAG's labels are chunk ids without quotes. Only
questions that the healthy pipeline gets right take part.

A row counts when the fault broke it. *Right*: its first cause is the seeded one. *Tried*: after
`ragauge diagnose --counterfactual`. Intervals are Wilson's, 95 %. *First fix*: the first thing to try for the run.
What a neighbour's sentence comes from can only be seen by trying.

The rules were mended while looking at the first two sets and at the first three faults of the third; what follows
them there was measured when the rules stood. A set that ends early was not measured to its end."""
TABLE = """| seeded fault | right | first fix | right, tried | first fix, tried | taken for |
|---|---|---|---|---|---|"""


def main(names: list[str]) -> int:
    """All sets, or those named."""
    seeded.JUDGE[0] = "embedded"
    text = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        cache, keep = seeded.option(names, "--cache") or folder, seeded.option(names, "--keep")
        for where in (squad(), clapnq(), mtrag()):
            if names and where.name not in names:
                continue
            runs = Path(keep) / where.name if keep else None
            items = seeded.good_items(cache, where, runs)
            n = sum(item.answerable is not False for item in items)
            text.append(f"\n## {where.name}: {n} answerable and {len(items) - n} unanswerable questions\n\n{TABLE}")
            for fault in FAULTS:
                if where.by_chunk and fault.seed is faults.cut_answers:
                    continue  # chunk ids of the healthy corpus name nothing in the cut one
                pair = seeded.seed_both(fault, items, cache, where, runs)
                if pair[0].n:
                    text.append(seeded.line(fault, *pair))
                    print(text[-1], flush=True)
                if not names:
                    RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
