"""Fails if a test was skipped, disabled or not run: skipped.py RESULTS (JUnit XML, as ctest writes it)."""

import sys
import xml.etree.ElementTree


def skipped(results):
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        if case.get("status") not in ("run", "fail"):
            yield f"{case.get('name')}: {case.get('status')}: {(case.findtext('system-out') or '').strip()}"


if __name__ == "__main__":
    found = list(skipped(sys.argv[1]))
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)
