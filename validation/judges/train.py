# ruff: noqa: E501
"""Trains the embedded judge's regressions: `python validation/judges/train.py FOLDER_WITH_LABELLED_SETS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from examples import FEATURES, tables
from training import fit

TARGET = Path(__file__).parents[2] / "src" / "ragauge" / "judges" / "embedded" / "weights.json"
LICENCES = {
    "attributionbench_citation": "Apache-2.0", "attributionbench_grounding": "Apache-2.0", "begin": "CC-BY-4.0, CDLA-Sharing-1.0",
    "factcheckgpt_stance": "Apache-2.0", "factcheckgpt_relevance": "Apache-2.0", "faithdial_audit": "MIT", "mtrag_human": "Apache-2.0",
    "ragtruth": "MIT", "ragtruth_sentences": "MIT", "summedits": "Apache-2.0", "wice_oracle_chunks": "not recorded with the data",
    "evouna_nq": "Apache-2.0", "nq301": "MIT", "mtrag_human_completeness": "Apache-2.0", "nomiracl_en": "Apache-2.0",
    "squad2_abstention": "CC-BY-SA-4.0", "nomiracl_en_mismatched": "Apache-2.0", "squad2_abstention_mismatched": "CC-BY-SA-4.0",
    "clapnq_dev": "Apache-2.0", "mtrag_passages": "Apache-2.0", "squad2_dev": "CC-BY-SA-4.0",
}  # fmt: skip


def main(folder: Path) -> None:
    models = {}
    for task, sets in tables(folder).items():
        weights = fit({name: examples for name, (_, examples) in sets.items()})
        models[task] = {
            "bias": round(float(weights[-1]), 4),
            "weights": {name: round(float(w), 4) for name, w in zip(FEATURES[task], weights[:-1], strict=True)},
            "trained_on": {name: {"n": len(found), "licence": LICENCES[name]} for name, (found, _) in sets.items()},
        }
    card = "Logistic regressions over hand-made features. No text of the sets is contained. Written by validation/judges/train.py."
    TARGET.write_text(json.dumps({"card": card, "models": models}, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
