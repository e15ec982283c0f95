"""Runs a file of tests by pytest: run.py NAME_test.py. A test that skips itself fails."""

import pathlib
import sys

import pytest

try:
    import xgrad  # noqa: F401
except ModuleNotFoundError as error:
    print(f"{error}: the Python module is not built; ./run test builds it")
    sys.exit(77)


class NoSkips:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.outcome == "skipped":
            report.outcome, report.longrepr = "failed", f"{item.name} skipped itself"


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", here / sys.argv[1]], plugins=[NoSkips()]))
