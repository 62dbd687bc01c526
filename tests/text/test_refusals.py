# ruff: noqa: E501 (tables)
from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ragauge.text.refusals import find_refusal, is_refusal

WHOLE = {
    "en": [
        "I don't know.", "I don’t know.", '"I don\'t know."', "I'm sorry, but I can't help with that.", "N/A", "The documents don't say.",
        "The provided context does not contain information about pricing.", "Unable to answer based on given passages.",
        "Not found in the documentation.", "I could not find an answer in the provided documents. Please consult the support team.",
        "There is no information about this in the sources [1].", "Based on the context, I cannot determine the limit.",
        "Sorry, I do not have enough information to answer this question. The documents only discuss billing.",
        "The answer cannot be determined from the provided context.", "No relevant information was found.",
        "I'm not sure.", "This is not mentioned in the provided context.", "None of the documents mention a price.",
        "Unfortunately, the given passages do not specify the release date. If you have more context, let me know!",
        "Unfortunately, the documents I was given do not contain an answer to that.", "The passages we have do not say who won.",
        "I'm sorry, but the context doesn't provide this. You may want to check the official documentation.",
    ],
    "de": ["Das weiß ich leider nicht.", "Die Dokumentation enthält keine Angaben dazu.", "Ich kann diese Frage anhand der Dokumente nicht beantworten.",
           "Im Kontext gibt es keine Informationen darüber."],
    "fr": ["Je ne sais pas.", "Le contexte ne contient aucune information à ce sujet.", "Je n'ai pas trouvé de réponse dans les documents."],
    "es": ["No lo sé.", "El contexto no proporciona información sobre esto.", "Lo siento, no puedo responder a esta pregunta."],
    "it": ["Non lo so.", "Il contesto non contiene informazioni su questo.", "Mi dispiace, non posso rispondere a questa domanda."],
    "pt": ["Não sei.", "O contexto não contém informações sobre isso.", "Desculpe, não consigo responder a esta pergunta."],
    "nl": ["Ik weet het niet.", "De context bevat geen informatie hierover.", "Ik kan deze vraag niet beantwoorden."],
    "pl": ["Nie wiem.", "Kontekst nie zawiera informacji na ten temat.", "Nie mogę odpowiedzieć na to pytanie."],
    "ru": ["Я не знаю.", "Контекст не содержит информации об этом.", "К сожалению, я не могу ответить на этот вопрос."],
    "zh": ["我不知道。", "根据提供的上下文，无法回答这个问题。", "文档中没有提到这个信息。"],
    "ja": ["わかりません。", "提供された文書には記載されていません。", "申し訳ありませんが、お答えできません。"],
    "ko": ["모르겠습니다.", "제공된 문서에는 해당 정보가 없습니다.", "죄송하지만 답변할 수 없습니다."],
}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in WHOLE.items() for text in texts])
def test_a_whole_refusal_is_found_in_its_language(language: str, text: str) -> None:
    refusal = find_refusal(text)
    assert refusal is not None
    assert refusal.language == language
    assert not refusal.partial
    assert text[refusal.start : refusal.end] == refusal.phrase
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "The warranty is two years. I could not find whether water damage is covered.", "The limit is 5 GB, but I don't know the price.",
        "The documentation does not state the default. Port 8080 is used in the examples.",
        "I cannot find the price, but the plan includes 5 GB of storage.", "Set `a: 1`; I'm not sure about the second value.",
        "Die Garantie beträgt zwei Jahre. Zu Wasserschäden kann ich keine Angaben finden.",
        "La garantía es de dos años. No encuentro información sobre daños por agua.", "保修期为两年。文档中没有提到水损。",
    ],
)  # fmt: skip
def test_a_partial_answer_is_not_a_refusal(text: str) -> None:
    refusal = find_refusal(text)
    assert refusal is not None
    assert refusal.partial
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "The server returns 'I don't know' when the key is missing.", 'The bot replies "I cannot answer that".', "Use `unable to answer` as the phrase.",
        "You cannot find the setting in v1; it is in v2.", "If the model cannot find an answer, it says I don't know.",
        "The configuration file does not contain a port by default.", "The client cannot determine the host name.", "No data is lost on restart.",
        "When no results are found, the API returns an empty list.", "The table is not found in the database.", "If we cannot find the key, error 404 is returned.",
        "No, the flag is not available in v1.", "The function does not provide a return value.", "Set it, although there is no default value.", "",
        "   ", "42", "Users who do not know their password can reset it.", "The response does not include a body.", "Unknown keys are errors.",
    ],
)  # fmt: skip
def test_an_answer_about_refusals_or_absences_is_no_refusal(text: str) -> None:
    assert find_refusal(text) is None
    assert not is_refusal(text)


def test_the_systems_own_phrase_counts() -> None:
    assert find_refusal("That is above my pay grade.") is None
    refusal = find_refusal("That is  ABOVE my pay grade.", ["that is above my pay grade."])
    assert refusal is not None
    assert refusal.language == "custom"
    assert is_refusal("That is above my pay grade. [1]", ["That is above my pay grade"])


def test_the_half_answered_peer_case_is_partial(shared: Path) -> None:
    lines = (shared / "oracles" / "peer_bug_cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {case["id"]: case for case in map(json.loads, lines)}
    refusal = find_refusal(cases["PB30-noncommittal-with-answer"]["input"]["answer"])
    assert refusal is not None
    assert refusal.partial
    assert is_refusal(cases["PB08-correct-abstention"]["input"]["answer"])


@pytest.mark.parametrize(
    "text",
    ["I cannot " * 100000, "the documents " * 70000, "'" * 10**6, "I " * 500000, "我不" * 300000],
    ids=lambda t: t[:6],
)
def test_a_megabyte_is_read_in_seconds(text: str) -> None:
    start = time.process_time()
    find_refusal(text)
    assert time.process_time() - start < 20
