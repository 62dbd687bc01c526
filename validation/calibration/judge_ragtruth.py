"""Judges the human-labelled RAGTruth answers with the embedded judge, once, and keeps the verdicts in a file.

    python validation/calibration/judge_ragtruth.py ../shared/judgedata/ragtruth.jsonl.gz verdicts.jsonl

A verdict is 1 (failing) when the judge finds at least one claim unsupported, the rule of `ragauge calibrate` for
faithfulness. Answers without claims are not judged (the metric leaves them unscored); they are left out and counted.
The file is continued where it stopped, and thrown away when the judge has changed.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from pathlib import Path

from ragauge.core.score import Scored
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.metrics.answer.faithfulness import Faithfulness
from ragauge.testing import a_sample


def main(source: Path, target: Path) -> None:
    """Judge what is not judged yet."""
    judge = EmbeddedJudge()
    metric = Faithfulness(judge)
    mark = judge.info().fingerprint
    known = [json.loads(line) for line in target.read_text().splitlines()] if target.exists() else []
    if any(row["judge"] != mark for row in known):
        known = []
        target.unlink()
    done = {row["id"] for row in known}
    with gzip.open(source, "rt", encoding="utf-8") as lines, target.open("a", encoding="utf-8") as out:
        for line in lines:
            row = json.loads(line)
            if row["id"] in done:
                continue
            passages = [(f"c{place}", text) for place, text in enumerate(row["contexts"], start=1)]
            sample = a_sample(passages, id=row["id"], question=row["question"] or "-", answer=row["text"])
            score = asyncio.run(metric.score(sample))
            scored = isinstance(score, Scored)
            out.write(
                json.dumps(
                    {
                        "id": row["id"],
                        "judge": mark,
                        "human": 1 - row["label"],
                        "verdict": int(score.value < 1.0) if scored else None,
                        "value": score.value if scored else None,
                        "unscored": None if scored else score.reason.value,
                        "model": row["label_detail"]["model"],
                        "words": len(row["text"].split()),
                    }
                )
                + "\n"
            )
            out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
