"""JUnit XML: one test case for each rule of a gate, and on request one for each question."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ragauge.analysis.gate_result import Check, GateResult

#: What XML 1.0 does not allow.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """`text` without what XML 1.0 cannot hold.

    >>> clean("a\\x00b\\x1bc\\ud800")
    'a\\ufffdb\\ufffdc\\ufffd'
    """
    return _ILLEGAL.sub("\ufffd", text)


def junit(result: GateResult, *, questions: bool = False, file: str | None = None) -> str:
    """The document. `failure`: a rule that failed. `error`: one that could not be judged.

    A question's own noise must not redden a build, so questions stand in it only on request: `failure` for those that
    do not pass their checks, `error` for those that could not be judged.
    """
    cases = [_rule(check, file) for check in result.checks]
    if questions:
        told = {question.id: question for question in result.questions}
        for item, outcome in result.outcomes.items():
            cases.append(_question(item, outcome, told[item].why if item in told else "", told.get(item), file))
    root = ElementTree.Element("testsuites", name="ragauge")
    suite = ElementTree.SubElement(root, "testsuite", name=clean(result.suite))
    for element in (root, suite):
        element.set("tests", str(len(cases)))
        element.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        element.set("errors", str(sum(case.find("error") is not None for case in cases)))
        element.set("skipped", "0")
        element.set("time", "0")
    _properties(suite, {"run": result.run, "baseline": result.baseline or "", "verdict": result.verdict})
    suite.extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _rule(check: Check, file: str | None) -> ElementTree.Element:
    case = _case(f"ragauge.gate.{check.kind}", check.name, file)
    known = {
        "value": check.observed,
        "threshold": check.limit,
        "low": check.low,
        "high": check.high,
        "n": check.n,
        "n_needed": check.n_needed,
        "false_alarm": check.false_alarm,
    }
    _properties(case, {name: f"{value:g}" for name, value in known.items() if value is not None})
    lines = [check.reason] + [f"{q.id}: {q.question}" + (f" ({q.why})" if q.why else "") for q in check.questions]
    _outcome(case, check.verdict, check.reason, "\n".join(lines), check.kind)
    return case


def _question(item: str, outcome: str, why: str, question: object, file: str | None) -> ElementTree.Element:
    case = _case("ragauge.question", item, file)
    text = getattr(question, "question", "")
    _outcome(case, {"passed": "pass", "failed": "fail"}.get(outcome, "inconclusive"), why, f"{text}\n{why}", "question")
    return case


def _case(classname: str, name: str, file: str | None) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=classname, name=clean(name), time="0")
    if file is not None:
        case.set("file", clean(file))
    return case


def _outcome(case: ElementTree.Element, verdict: str, message: str, text: str, kind: str) -> None:
    tag = {"fail": "failure", "inconclusive": "error"}.get(verdict)
    if tag is not None:
        ElementTree.SubElement(case, tag, message=clean(message), type=kind).text = clean(text)
    elif message:
        ElementTree.SubElement(case, "system-out").text = clean(message)


def _properties(parent: ElementTree.Element, values: dict[str, str]) -> None:
    if values:
        holder = ElementTree.SubElement(parent, "properties")
        for name, value in values.items():
            ElementTree.SubElement(holder, "property", name=name, value=clean(value))
