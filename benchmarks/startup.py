"""How long starting takes: `import ragauge` against `import numpy`, and `ragauge --help`.

    python benchmarks/startup.py [--repeats 15] [--json]

Each measurement is a process of its own; the minimum counts (the rest is the machine's other work). What a bare
`python -c pass` takes is subtracted from the imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time


def fastest(code: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run([sys.executable, *code], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bare = fastest(["-c", "pass"], options.repeats)
    ours = fastest(["-c", "import ragauge"], options.repeats) - bare
    numpy = fastest(["-c", "import numpy"], options.repeats) - bare
    figures = {
        "bare_s": bare,
        "import_ragauge_s": ours,
        "import_numpy_s": numpy,
        "import_ratio": ours / numpy,
        "help_s": fastest(["-m", "ragauge", "--help"], options.repeats),
        "demo_help_s": fastest(["-m", "ragauge", "demo", "--help"], options.repeats),
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print("| what | seconds |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:.3f} |")


if __name__ == "__main__":
    main()
