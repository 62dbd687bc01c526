"""How each task is put to a language model, and how its reply becomes the task's own type."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragauge.core.judge import Task
from ragauge.core.sample import RetrievedChunk, is_blank
from ragauge.core.tasks import ClaimsReply, QuestionsReply, SimilarityReply, VerdictReply, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.judges.llm.codes import codes, salt_of, shuffled
from ragauge.judges.llm.forms import Guesses, Opinion, Opinions, SplitText, label_of
from ragauge.prompts import Fenced, Piece
from ragauge.prompts.fences import one_line

if TYPE_CHECKING:
    from ragauge.judges.llm.judge import LLMJudge

#: Room in a reply for one verdict, one claim or question (tokens), and for what stands around them.
ROOM_EACH, ROOM_AROUND = 160, 300


@dataclass(frozen=True)
class Item:
    """One thing that is asked about: its id, the code that the model sees instead, its words."""

    id: str
    code: str
    words: str
    cited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passages:
    """The chunks that are shown, in the order shown; code → chunk."""

    by_code: Mapping[str, RetrievedChunk]

    def fenced(self, only: Sequence[str] | None = None) -> Fenced:
        """The passages as the prompt shows them."""
        wanted = self.by_code if only is None else {code: self.by_code[code] for code in self.by_code if code in only}
        return Fenced(tuple(Piece("passage", chunk.text, code) for code, chunk in wanted.items()))


def shown(chunks: Sequence[RetrievedChunk], salt: str) -> Passages:
    """The chunks that have any text, each id once, in an order that follows from `salt`."""
    first: dict[str, RetrievedChunk] = {}
    for chunk in chunks:
        if not is_blank(chunk.text):
            first.setdefault(chunk.id, chunk)
    ordered = shuffled(list(first.values()), salt)
    return Passages(dict(zip(codes("P", len(ordered), salt), ordered, strict=True)))


def statements(items: Sequence[Item]) -> Fenced:
    """The items as a list, one to a line, within one fence."""
    lines = []
    for item in items:
        cited = f" [{' '.join(item.cited)}]" if item.cited else ""
        lines.append(f"{item.code}{cited}: {one_line(item.words)}")
    return Fenced.one("statements", "\n".join(lines))


async def verdicts(
    judge: LLMJudge,
    task: Task[Any],
    items: Sequence[Item],
    values: Callable[[Sequence[Item]], dict[str, str | Fenced]],
    passages: Passages | None = None,
) -> dict[str, Verdict]:
    """A verdict for every item, by its id. What is missing or off the menu is asked again, and only that."""
    talk = judge.conversation(task)
    good: dict[str, Verdict] = {}
    owed = list(items)
    while owed:
        if not talk.may_ask:
            raise await talk.give_up(f"{len(owed)} of {len(items)}")
        room = ROOM_AROUND + ROOM_EACH * len(owed)
        reading = await talk.ask(values(owed), opinions, ids=tuple(item.code for item in owed), room=room)
        if reading is None:
            continue
        said = usable(reading.value, owed, task.labels)
        note = f" (reply repaired: {', '.join(reading.repairs)})" if reading.repairs else ""
        for item in owed:
            if (opinion := said.get(item.code)) is not None:
                good[item.id] = verdict_of(item, opinion, task.labels, passages, note)
        owed = [item for item in owed if item.id not in good]
        talk.missing = tuple(item.code for item in owed)
    return good


def opinions(value: dict[str, Any]) -> list[Opinion]:
    """The verdicts in a reply; entries that are none are passed over, their ids are then missing."""
    read = []
    for entry in Opinions.model_validate(value).verdicts:
        try:
            read.append(Opinion.model_validate(entry))
        except ValueError:
            continue  # its id stays unanswered and is asked again
    return read


def usable(read: Sequence[Opinion], owed: Sequence[Item], menu: tuple[str, ...]) -> dict[str, Opinion]:
    """By code: the verdicts on what was asked, with a label from the menu, and not two different ones on one id."""
    wanted = {item.code for item in owed}
    found: dict[str, Opinion] = {}
    torn = set()
    for opinion in read:
        label = label_of(opinion.label, menu)
        if opinion.id not in wanted or label is None:
            continue
        if opinion.id in found and label_of(found[opinion.id].label, menu) != label:
            torn.add(opinion.id)
        found.setdefault(opinion.id, opinion)
    return {code: opinion for code, opinion in found.items() if code not in torn}


def verdict_of(item: Item, opinion: Opinion, menu: tuple[str, ...], passages: Passages | None, note: str) -> Verdict:
    """The verdict in our words: evidence is a chunk that was shown, a quote stands in it, or there is none."""
    label = label_of(opinion.label, menu)
    assert label is not None
    evidence, quote = None, None
    if passages is not None and label != "not_mentioned":
        allowed = [code for code in passages.by_code if not item.cited or code in item.cited]
        code = opinion.evidence if opinion.evidence in allowed else None
        holders = [c for c in allowed if opinion.quote and stands_in(opinion.quote, passages.by_code[c].text)]
        if code is None:
            code = holders[0] if holders else allowed[0] if len(allowed) == 1 else None
        evidence = None if code is None else passages.by_code[code].id
        quote = opinion.quote if code in holders else None
    reason = one_line(opinion.reason or "") + note
    return Verdict(id=item.id, claim=item.words, label=label, evidence=evidence, quote=quote, reason=reason.strip())


def stands_in(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text`, whatever the white space and the case."""
    plain = " ".join(quote.split()).casefold()
    return bool(plain) and plain in " ".join(text.split()).casefold()


async def support(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictsReply:
    """SUPPORT: claims against all passages."""
    claims: Sequence[Claim] = inputs["claims"]
    salt = _salt(judge, task, *(c.text for c in inputs["chunks"]), *(c.text for c in claims))
    passages = shown(inputs["chunks"], salt)
    if not passages.by_code:
        return _all(claims, "not_mentioned", "there is no passage with text")
    items = _items(claims, salt)
    good = await verdicts(
        judge, task, items, lambda owed: {"passages": passages.fenced(), "statements": statements(owed)}, passages
    )
    return _in_order(claims, good)


async def citation_support(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictsReply:
    """CITATION_SUPPORT: each claim against the passages that it cites."""
    claims: Sequence[Claim] = inputs["claims"]
    salt = _salt(judge, task, *(c.text for c in inputs["chunks"]), *(c.text for c in claims), sorted(inputs["cited"]))
    passages = shown(inputs["chunks"], salt)
    code_of = {chunk.id: code for code, chunk in passages.by_code.items()}
    cited = {c.id: tuple(code_of[i] for i in inputs["cited"].get(c.id, ()) if i in code_of) for c in claims}
    asked = [claim for claim in claims if cited[claim.id]]
    items = [Item(item.id, item.code, item.words, cited[item.id]) for item in _items(asked, salt)]

    def values(owed: Sequence[Item]) -> dict[str, str | Fenced]:
        needed = [code for item in owed for code in item.cited]
        return {"passages": passages.fenced(needed), "statements": statements(owed)}

    good = await verdicts(judge, task, items, values, passages)
    for claim in claims:
        if not cited[claim.id]:
            reason = "it cites no passage that is there"
            good[claim.id] = Verdict(id=claim.id, claim=claim.text, label="not_mentioned", reason=reason)
    return _in_order(claims, good)


async def coverage(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictsReply:
    """COVERAGE: claims against one text."""
    claims: Sequence[Claim] = inputs["claims"]
    if is_blank(inputs["text"]):
        return _all(claims, "not_mentioned", "the text is blank")
    salt = _salt(judge, task, inputs["text"], *(c.text for c in claims))
    text = Fenced.one("text", inputs["text"])
    good = await verdicts(
        judge, task, _items(claims, salt), lambda owed: {"text": text, "statements": statements(owed)}
    )
    return _in_order(claims, good)


async def needs_citation(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictsReply:
    """NEEDS_CITATION: sentences by themselves."""
    claims: Sequence[Claim] = inputs["claims"]
    salt = _salt(judge, task, *(c.text for c in claims))
    good = await verdicts(judge, task, _items(claims, salt), lambda owed: {"statements": statements(owed)})
    return _in_order(claims, good)


async def usefulness(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictsReply:
    """USEFULNESS: all chunks in one call, in shuffled order, or each in its own."""
    chunks: Sequence[RetrievedChunk] = inputs["chunks"]
    question, reference = inputs["question"], inputs.get("reference")
    salt = _salt(judge, task, question, reference, *(c.text for c in chunks))
    passages = shown(chunks, salt)
    items = [Item(chunk.id, code, "") for code, chunk in passages.by_code.items()]

    def values(owed: Sequence[Item]) -> dict[str, str | Fenced]:
        return {
            "question": Fenced.one("question", question),
            "reference": Fenced.one("reference", reference),
            "passages": passages.fenced([item.code for item in owed]),
        }

    groups = [[item] for item in items] if judge.per_chunk else [items] if items else []
    judged = await asyncio.gather(*(verdicts(judge, task, group, values) for group in groups))
    good = {id: verdict for part in judged for id, verdict in part.items()}
    blank = {c.id: Verdict(id=c.id, label="not_useful", reason="the chunk shows no text") for c in chunks}
    return VerdictsReply(verdicts=tuple({**blank, **good}[id] for id in dict.fromkeys(c.id for c in chunks)))


async def single(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> VerdictReply:
    """SUFFICIENCY, ABSTENTION, CORRECTNESS, RELEVANCE: one verdict on the whole."""
    texts = {name: inputs[name] for name in task.inputs if name != "chunks"}
    chunks = inputs["chunks"] if "chunks" in task.inputs else ()
    salt = _salt(judge, task, *texts.values(), *(c.text for c in chunks))
    code = codes("T", 1, salt)[0]
    values: dict[str, str | Fenced] = {name: Fenced.one(name, text) for name, text in texts.items()}
    if "chunks" in task.inputs:
        passages = shown(chunks, salt)
        if not passages.by_code:
            reason = "there is no passage with text"
            return VerdictReply(verdict=Verdict(id=task.name, label=task.labels[-1], reason=reason))
        values["passages"] = passages.fenced()

    def accept(value: dict[str, Any]) -> Opinion:
        opinion = Opinion.model_validate(value)
        if opinion.id != code or label_of(opinion.label, task.labels) is None:
            raise ValueError("the id or the label is not one that was asked for")
        return opinion

    talk = judge.conversation(task)
    while talk.may_ask:
        reading = await talk.ask({"item": code, **values}, accept, ids=(code,))
        if reading is not None:
            note = f" (reply repaired: {', '.join(reading.repairs)})" if reading.repairs else ""
            return VerdictReply(verdict=verdict_of(Item(task.name, code, ""), reading.value, task.labels, None, note))
    raise await talk.give_up()


async def split_claims(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> ClaimsReply:
    """SPLIT_CLAIMS: claims c1, c2 … in order; said twice is said once."""
    text, question = inputs["text"], inputs.get("question")
    if is_blank(text):
        return ClaimsReply(claims=())
    code = codes("T", 1, _salt(judge, task, text, question))[0]

    def accept(value: dict[str, Any]) -> list[str]:
        said = SplitText.model_validate(value)
        if said.id != code:
            raise ValueError("the id is not the one that was asked for")
        return said.claims

    talk = judge.conversation(task)
    values: dict[str, str | Fenced] = {
        "item": code,
        "question": Fenced.one("question", question),
        "text": Fenced.one("text", text),
    }
    room = ROOM_AROUND + len(text) // 2
    while talk.may_ask:
        reading = await talk.ask(values, accept, ids=(code,), room=room)
        if reading is not None:
            words = dict.fromkeys(one_line(claim) for claim in reading.value if not is_blank(claim))
            return ClaimsReply(claims=tuple(_claim(n, claim, text) for n, claim in enumerate(words, start=1)))
    raise await talk.give_up()


def _claim(number: int, words: str, text: str) -> Claim:
    start = text.find(words)
    place = {} if start < 0 else {"start": start, "end": start + len(words)}
    return Claim(id=f"c{number}", text=words, **place)


async def reverse_questions(judge: LLMJudge, task: Task[Any], inputs: Mapping[str, Any]) -> QuestionsReply:
    """REVERSE_QUESTIONS: exactly `n` questions; what is missing is asked for again."""
    answer, n = inputs["answer"], int(inputs["n"])
    code = codes("T", 1, _salt(judge, task, answer))[0]

    def accept(value: dict[str, Any]) -> Guesses:
        said = Guesses.model_validate(value)
        if said.id != code:
            raise ValueError("the id is not the one that was asked for")
        return said

    talk = judge.conversation(task)
    questions: list[str] = []
    noncommittal: bool | None = None
    while talk.may_ask:
        owed = n - len(questions)
        values: dict[str, str | Fenced] = {"item": code, "n": str(owed), "answer": Fenced.one("answer", answer)}
        reading = await talk.ask(values, accept, ids=(code,), room=ROOM_AROUND + ROOM_EACH * owed, count=owed)
        if reading is None:
            continue
        noncommittal = reading.value.noncommittal if noncommittal is None else noncommittal
        questions += [one_line(question) for question in reading.value.questions if not is_blank(question)][:owed]
        if len(questions) == n:
            return QuestionsReply(questions=tuple(questions), noncommittal=noncommittal)
    raise await talk.give_up(f"{n - len(questions)} of {n} questions")


async def similarity(judge: LLMJudge, text: str, others: Sequence[str]) -> SimilarityReply:
    """SIMILARITY: cosines by an embedder on this machine; free.

    Each request is embedded by itself: put together with others its numbers would depend on who asked when.
    """
    if not others:
        return SimilarityReply(similarities=())

    def cosines() -> tuple[float, ...]:
        from ragauge.embeddings.loading import load

        vectors = load(judge.embedder).encode([text, *others])
        return tuple(max(-1.0, min(1.0, float(cosine))) for cosine in vectors[1:] @ vectors[0])

    loop = asyncio.get_running_loop()
    return SimilarityReply(similarities=await loop.run_in_executor(judge.embedding_thread, cosines))


def _salt(judge: LLMJudge, task: Task[Any], *parts: object) -> str:
    return salt_of(judge.seed, task.name, judge.sample, *parts)


def _items(claims: Sequence[Claim], salt: str) -> list[Item]:
    return [Item(c.id, code, c.text) for c, code in zip(claims, codes("S", len(claims), salt), strict=True)]


def _all(claims: Sequence[Claim], label: str, reason: str) -> VerdictsReply:
    return VerdictsReply(verdicts=tuple(Verdict(id=c.id, claim=c.text, label=label, reason=reason) for c in claims))


def _in_order(claims: Sequence[Claim], good: Mapping[str, Verdict]) -> VerdictsReply:
    return VerdictsReply(verdicts=tuple(good[claim.id] for claim in claims))


ANSWERS: dict[str, Callable[[LLMJudge, Task[Any], Mapping[str, Any]], Awaitable[Any]]] = {
    "split_claims": split_claims,
    "support": support,
    "citation_support": citation_support,
    "coverage": coverage,
    "needs_citation": needs_citation,
    "usefulness": usefulness,
    "sufficiency": single,
    "abstention": single,
    "correctness": single,
    "relevance": single,
    "reverse_questions": reverse_questions,
}
