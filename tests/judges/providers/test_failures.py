from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ragauge.core.provider import Endpoint
from ragauge.judges.providers.failures import failure_of_status, redact, retry_after

HERE = Endpoint("openai", "gpt")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "bad", "request"), (401, "", "key"), (403, "", "key"), (404, "", "model"), (408, "", "server"),
        (413, "", "request"), (422, "", "request"), (429, "slow down", "throttled"), (500, "", "server"),
        (429, '{"code": "insufficient_quota"}', "quota"), (402, "", "quota"), (503, "", "server"),
        (529, "overloaded", "throttled"), (520, "", "server"),
    ],
)  # fmt: skip
def test_kinds(status: int, body: str, kind: str) -> None:
    assert failure_of_status(HERE, status, body, {}, ()).kind == kind


def test_retry_after_in_all_its_spellings() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 25 < (retry_after({"retry-after": later}) or 0) <= 30
    for odd in ("soon", "", "nan", "inf", "1e9"):
        assert retry_after({"retry-after": odd}) is None
    assert retry_after({"retry-after": "-5"}) == 0.0
    assert retry_after({}) is None


def test_secrets_are_never_shown() -> None:
    text = redact("key hunter2hunter2 and sk-abcdef0123456789 and Bearer abc.def-ghi", ["hunter2hunter2"])
    assert text == "key *** and *** and ***"
    assert len(redact("x" * 10_000)) == 300
