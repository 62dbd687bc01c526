"""One file per metric. A metric is a frozen dataclass: its fields are its parameters, `score` its one method.

`retrieval/` reads ids only; `context/` has a judge read what was retrieved; `answer/` and `citation/` have a judge read
what was answered; `proxy/` is free and deterministic. What they share stands here: `settle` (what is decided before any
judge is asked), `decision` (did the system decline), `claims` and `verdicts` (every asked id comes back exactly once).
"""
