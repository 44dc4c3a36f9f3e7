"""Findings as JUnit XML: a suite per capture, a test case per finding, or one that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from amqpscope.check.result import CaptureResult
    from amqpscope.findings import Finding

    Fails = Callable[[Finding], bool]


def junit_text(captures: Sequence[CaptureResult], fails: Fails) -> str:
    """The report as text; a finding that does not make the run fail is a case that passes."""
    suites = ElementTree.Element("testsuites", name="amqpscope")
    for checked in captures:
        suites.append(suite(checked, fails))
    for count in ("tests", "failures", "errors"):
        suites.set(count, str(sum(int(each.get(count, 0)) for each in suites)))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def suite(checked: CaptureResult, fails: Fails) -> ElementTree.Element:
    """The test suite of one capture."""
    cases = [testcase(finding, checked, fails) for finding in checked.findings]
    if checked.error is not None:
        case = ElementTree.Element("testcase", name="capture is read", classname="capture")
        tag = "error" if checked.unreadable else "system-out"
        problem = ElementTree.SubElement(case, tag)
        problem.text = legal(checked.error)
        if checked.unreadable:
            problem.set("message", problem.text)
        cases.insert(0, case)
    if not cases:
        cases = [ElementTree.Element("testcase", name="no findings", classname="lint")]
    element = ElementTree.Element(
        "testsuite",
        name=legal(checked.path),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors=str(int(checked.unreadable)),
    )
    element.extend(cases)
    return element


def testcase(finding: Finding, checked: CaptureResult, fails: Fails) -> ElementTree.Element:
    """One finding."""
    case = ElementTree.Element(
        "testcase",
        name=f"{finding.name} at frame {finding.frame}",
        classname=finding.rule,
        file=legal(checked.path),
    )
    text = legal(f"{finding.severity} ({finding.certainty}), {finding.peer}: {finding.message}")
    detail = [text, f"frame {finding.frame}, packet {finding.packet}, section {finding.section}"]
    detail += [f"frame {frame}: {why}" for frame, why in finding.related]
    if fails(finding):
        told = ElementTree.SubElement(case, "failure", type=finding.rule, message=text)
    else:
        told = ElementTree.SubElement(case, "system-out")
    told.text = legal("\n".join(detail))
    return case


def legal(text: str) -> str:
    """Without the control characters that XML forbids."""
    return "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )
