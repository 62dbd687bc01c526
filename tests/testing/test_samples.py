from __future__ import annotations

from ragauge.testing import a_sample


def test_a_sample_is_whole_by_default() -> None:
    sample = a_sample()
    assert sample.response.context is not None
    assert sample.response.context.ids == ["a", "b", "c"]
    assert sample.labels.chunks == {"a": 1}
    assert sample.item.answerable
    assert sample.item.keywords == ("8125",)


def test_no_gold_means_that_no_labels_are_known() -> None:
    assert a_sample(gold="").labels.chunks is None
    assert a_sample(gold=None).labels.chunks is None


def test_an_unanswerable_sample_has_neither_labels_nor_reference() -> None:
    sample = a_sample(answerable=False)
    assert sample.labels.chunks is None
    assert sample.item.answer is None
    assert sample.item.keywords is None


def test_document_labels_follow_from_chunk_labels() -> None:
    sample = a_sample("a b", grades={"a": 1, "b": 3}, documents={"a": "d", "b": "d"})
    assert sample.labels.documents == {"d": 3}
    assert sample.response.context is not None
    assert sample.response.context.documents == ["d"]


def test_nothing_retrieved_and_nothing_said_are_told_apart() -> None:
    empty, silent = a_sample(""), a_sample(None)
    assert empty.response.context is not None
    assert len(empty.response.context) == 0
    assert silent.response.context is None


def test_more_goes_to_the_response_or_to_the_item() -> None:
    sample = a_sample([("a", "Text.")], abstained=True, claims=("One.",), tags=("lookup",), scores=[0.5])
    assert sample.response.abstained
    assert sample.item.claims == ("One.",)
    assert sample.item.tags == ("lookup",)
    assert sample.response.context is not None
    assert sample.response.context.chunks[0].score == 0.5
