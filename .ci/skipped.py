"""Fails when a test was skipped without saying why: skipped.py RESULTS (JUnit XML, as ctest writes it)."""

import sys
import xml.etree.ElementTree


def mute(results):
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        if case.get("status") != "run" and case.get("status") != "fail":
            # GoogleTest and the Python tests print the reason behind "Skipped".
            said = (case.findtext("system-out") or "").partition("Skipped")[2].strip(" :\n")
            if not said or said.startswith("["):
                yield case.get("name")


if __name__ == "__main__":
    names = list(mute(sys.argv[1]))
    for name in names:
        print(f"{name}: skipped without a reason", file=sys.stderr)
    sys.exit(1 if names else 0)
