# ruff: noqa: E501 (tables)
"""Minimal pairs: two claims that differ in one detail, one supported by the text and one not."""

from __future__ import annotations

import pytest

from ragauge.judges.embedded.support import judge_text

PAIRS = {
    "number": [
        ("The cache stores up to 512 MB by default.", "The cache stores up to 512 MB.", "The cache stores up to 256 MB."),
        ("The job keeps the last 14 snapshots.", "The job keeps the last fourteen snapshots.", "The job keeps the last 15 snapshots."),
        ("The server listens on port 8080 for HTTP traffic.", "The server listens on port 8080.", "The server listens on port 9090."),
        ("Free accounts get 100 requests per minute.", "Free accounts get 100 requests per minute.", "Free accounts get 1,000 requests per minute."),
        ("The release needs Python 3.10 or newer.", "The release needs Python 3.10.", "The release needs Python 3.8."),
        ("Discounts of 12 % apply to annual plans.", "Annual plans have a discount of 12 percent.", "Annual plans have a discount of 15 percent."),
    ],
    "unit": [
        ("Entries expire after 30 minutes.", "Entries expire after half an hour.", "Entries expire after 30 hours."),
        ("Uploads may have at most 1.5 GB.", "Uploads may have at most 1500 MB.", "Uploads may have at most 1.5 MB."),
        ("The timeout is 2 seconds.", "The timeout is 2000 ms.", "The timeout is 2 minutes."),
        ("The plan costs $20 per seat.", "The plan costs 20 dollars per seat.", "The plan costs 20 EUR per seat."),
        ("The key expires after 90 days.", "The key expires after 90 days.", "The key expires after 90 weeks."),
    ],
    "date": [
        ("Atlas was released on 14 March 2024.", "Atlas was released on 2024-03-14.", "Atlas was released on 14 March 2023."),
        ("Support for the old API ends in June 2026.", "Support for the old API ends in June 2026.", "Support for the old API ends in July 2026."),
        ("The nightly job starts at 02:00 UTC.", "The nightly job starts at 2 a.m. UTC.", "The nightly job starts at 2 p.m. UTC."),
    ],
    "negation": [
        ("Shipping costs are not refunded.", "Shipping costs are not refunded.", "Shipping costs are refunded."),
        ("The agent supports Windows.", "The agent supports Windows.", "The agent does not support Windows."),
        ("Snapshots are encrypted with AES-256.", "Snapshots are encrypted with AES-256.", "Snapshots are not encrypted with AES-256."),
        ("The command cannot be undone.", "The command cannot be undone.", "The command can be undone."),
        ("Deployments never restart the database.", "Deployments never restart the database.", "Deployments restart the database."),
    ],
    "opposite": [
        ("Writes to the cache are asynchronous.", "Writes to the cache are asynchronous.", "Writes to the cache are synchronous."),
        ("The flag --strict is disabled by default.", "The flag --strict is disabled by default.", "The flag --strict is enabled by default."),
        ("The field region is optional.", "The field region is optional.", "The field region is required."),
        ("Run the migration before the upgrade.", "Run the migration before the upgrade.", "Run the migration after the upgrade."),
        ("The endpoint is only reachable from internal networks.", "The endpoint is only reachable from internal networks.", "The endpoint is only reachable from external networks."),
    ],
    "name": [
        ("Backups are stored in the Frankfurt region.", "Backups are stored in the Frankfurt region.", "Backups are stored in the London region."),
        ("The release was led by Maria Chen.", "Maria Chen led the release.", "Peter Smith led the release."),
        ("Set max_connections in server.yaml.", "Set max_connections in server.yaml.", "Set max_threads in server.yaml."),
        ("The agent ships metrics to Prometheus.", "The agent ships metrics to Prometheus.", "The agent ships metrics to Datadog."),
    ],
    "quantifier": [
        ("Some plans include telephone support.", "Some plans include telephone support.", "All plans include telephone support."),
        ("Retries may sometimes reorder messages.", "Retries may sometimes reorder messages.", "Retries always reorder messages."),
    ],
}  # fmt: skip
#: Pairs that this version gets wrong: an ordinary word exchanged for another, with no name, number or opposite in it.
KNOWN_WRONG = [
    (
        "Run `orionctl rollback` to return to the previous release.",
        "Run helm rollback to return to the previous release.",
    ),
    ("The manager has to approve leave requests.", "The assistant has to approve leave requests."),
]
NOISE = "The dashboard shows charts of traffic. Administrators can invite people by mail."


@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"), [(k, *pair) for k, pairs in PAIRS.items() for pair in pairs]
)
def test_one_detail_decides(kind: str, text: str, right: str, wrong: str) -> None:
    texts = (NOISE, text)
    good, bad = judge_text(right, texts), judge_text(wrong, texts)
    assert good.label == "supported", good
    assert bad.label != "supported", bad
    assert bad.probability < good.probability


@pytest.mark.parametrize("kind", ["number", "unit", "date", "negation", "opposite"])
def test_a_differing_detail_in_a_matching_sentence_is_a_contradiction(kind: str) -> None:
    found = [judge_text(wrong, (NOISE, text)) for text, _, wrong in PAIRS[kind]]
    assert [finding.label for finding in found] == ["contradicted"] * len(found)


def test_another_matter_is_not_mentioned() -> None:
    assert (
        judge_text("The company was founded in Lisbon in 1999.", (NOISE, PAIRS["number"][0][0])).label
        == "not_mentioned"
    )


def test_the_reason_says_what_differs() -> None:
    found = judge_text("The cache stores up to 256 MB.", (PAIRS["number"][0][0],))
    assert "256 MB" in found.reason
    assert "512 MB" in found.reason


@pytest.mark.xfail(reason="exchanged ordinary words need more than word overlap", strict=True)
@pytest.mark.parametrize(("text", "wrong"), KNOWN_WRONG)
def test_an_exchanged_ordinary_word_is_noticed(text: str, wrong: str) -> None:
    assert judge_text(wrong, (NOISE, text)).label != "supported"


SAID = (
    "snapshots are kept for 30 days", "the default port of the agent is 9090", "billing is monthly",
    "the free plan includes five projects", "administrators can reset the password of any user",
)  # fmt: skip
TOLD = (
    "Snapshots are kept for 30 days and then removed. The default port of the agent is 9090. Billing is monthly.",
    "The free plan includes five projects. Administrators can reset the password of any user from the console.",
)


@pytest.mark.parametrize(
    "denial", ["It is false that {}.", "It is incorrect that {}.", "It is a myth that {}.", "It is not true that {}."]
)  # fmt: skip
def test_a_denial_of_what_the_text_says_is_not_supported(denial: str) -> None:
    assert [judge_text(denial.format(one), TOLD).label for one in SAID] == ["contradicted"] * len(SAID)


@pytest.mark.parametrize(
    "said", ["It is true that {}.", "It would be right to say that {}.", "The manual says that {}."]
)
def test_what_is_affirmed_stays_supported(said: str) -> None:
    assert [judge_text(said.format(one), TOLD).label for one in SAID] == ["supported"] * len(SAID)
