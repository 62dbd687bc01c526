"""Print the requirements of this checkout, one a line: `python scripts/requirements.py demo|dev|slow`."""

import re
import sys
import tomllib
from pathlib import Path


def requirements(what: str) -> list[str]:
    """The core, the extras that `what` needs, and what builds the package."""
    data = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = data["project"]
    wanted = list(data["build-system"]["requires"]) + list(project["dependencies"])
    extras = ["reference"]
    groups = {"demo": (), "dev": ("dev",), "slow": ("dev", "slow")}[what]
    for line in [line for group in groups for line in data["dependency-groups"][group]]:
        own = re.fullmatch(r"ragauge\[([^]]*)\]", line)
        if own:
            extras += [name.strip() for name in own.group(1).split(",")]
        else:
            wanted.append(line)
    for extra in dict.fromkeys(extras):
        wanted += project["optional-dependencies"][extra]
    return list(dict.fromkeys([*wanted, "editables"]))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
