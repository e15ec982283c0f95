"""The notebook of the documentation runs from a fresh kernel, and its page shows what it gives."""

import pathlib

import nbclient
import nbformat

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/python.ipynb"


def outputs(notebook):
    """The kinds of each code cell's outputs; a run shows its report, which the stored notebook leaves out."""
    return [[sorted(set(one.get("data", {})) - {"text/html"}) or one.output_type for one in cell.outputs]
            for cell in notebook.cells if cell.cell_type == "code"]


def text(notebook):
    return "".join(one.get("text", "") or one.get("data", {}).get("text/plain", "") for cell in notebook.cells for one in cell.get("outputs", []))


def test_the_notebook(tmp_path):
    stored, fresh = (nbformat.read(NOTEBOOK, as_version=4) for _ in range(2))
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(fresh, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()  # raises what a cell raises
    assert outputs(fresh) == outputs(stored)
    run = next(one.data for cell in fresh.cells for one in cell.get("outputs", []) if "xgrad.Run" in one.get("data", {}).get("text/plain", ""))
    assert run["text/html"].startswith("<iframe")
    bar = next(one.data for cell in fresh.cells for one in cell.get("outputs", []) if "<progress" in one.get("data", {}).get("text/html", ""))
    assert bar["text/plain"].startswith("400/400, ")
    for notebook in (stored, fresh):
        assert "6 2 9 5 1 4 1 3\n" in text(notebook)  # 3 1 4 1 5 9 2 6, reversed
        assert "<xgrad.GradientCheck: passed, 29 tensors>" in text(notebook)
