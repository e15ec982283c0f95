"""What bench/compare.py says where a peer is missing, and of several machines, and which results it does not add to; what
bench/data_path.py says of configs."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import compare  # noqa: E402
import data_path  # noqa: E402
import machines  # noqa: E402
import show  # noqa: E402

MACHINE = {"date": "2026-01-02", "processor": "Intel(R) one", "cores": 2, "instructions": "avx512_bf16", "others": 0.0}


def side(name, ratio=20.0):
    quartiles = {"low": ratio, "median": ratio, "high": ratio, "rounds": 9}
    return {"name": name, "ms": 1.0, "mib": 1000.0, "mib_of_model": 1.0, "start_s": 1.0, "difference": 1e-6, "ratio": quartiles}


def result(*peers, failed=(), **more):
    return {"workload": "vit", "threads": 1, "xgrad": side("xgrad") | {"mib": 10.0}, "peers": [side(name) for name in peers],
            "failed": [{"name": name, "why": "no such module"} for name in failed]} | more


def results(training=(), inference=(), bf16=()):
    return {"training": list(training), "bf16": list(bf16), "inference": list(inference), "accuracy": [], "machine": MACHINE,
            "versions": ["jax 1"]}


class MissingPeer(unittest.TestCase):
    def test_all_that_ran_are_judged(self):
        self.assertIn("| ≥ 1.35 |", show.training([result("torch fused", "jax")], MACHINE))
        self.assertIn("≥ 1.35, **missed**", show.training([result() | {"peers": [side("jax", 1.3)]}], MACHINE))
        # Goals are those of the class and the number of threads, if there are any.
        self.assertIn("| ≥ 1.25 |", show.training([result("jax")], MACHINE | {"instructions": "avx2"}))
        self.assertIn("| ≥ 1.45 |", show.training([result("jax", threads=2)], MACHINE | {"instructions": "avx2"}))
        self.assertIn("] |  |", show.training([result("jax")], MACHINE | {"instructions": "baseline"}))
        own = {"own": side("xgrad float32", 1.5) | {"mib": 20.0}}
        self.assertIn("| ≥ 1.6 | 0.50 | ≤ 0.75 |", show.bf16([result("jax", **own)], MACHINE))
        self.assertIn("≥ 1.6, **missed**", show.bf16([result(**own) | {"peers": [side("torch fused bf16", 1.5)]}], MACHINE))
        self.assertNotIn("1.6", show.bf16([result("jax", **own)], MACHINE | {"instructions": "avx512"}))

    def test_no_goal_is_reached_without_a_peer(self):
        for without in (result("torch fused", failed=["jax"]), result(failed=["torch fused", "jax"])):
            text = show.training([result("torch fused", "jax"), without | {"threads": 2}], MACHINE)
            self.assertIn("jax", text.strip().splitlines()[-1].split("not judged: without ")[1])
        # A row that was measured with fewer peers than the others of its table.
        self.assertIn("not judged: without jax", show.training([result("torch fused", "jax"), result("torch fused")], MACHINE))

    def test_memory_and_forward_passes(self):
        self.assertIn("not judged: without torch explicit", show.memory([result("torch fused", failed=["torch explicit"])], MACHINE))
        self.assertNotIn("not judged", show.memory([result("torch fused", "torch explicit", failed=["jax"])], MACHINE))
        self.assertIn("not judged: without onnxruntime", show.inference([result("torch fused", failed=["onnxruntime"], batch=1)], MACHINE))

    def test_a_failure_is_one(self):
        self.assertEqual(show.failures(results([result("jax")], [result("onnxruntime", batch=1)])), [])
        self.assertEqual(len(show.failures(results([result(failed=["jax"])], [result(failed=["onnxruntime"], batch=1)]))), 2)


class Machines(unittest.TestCase):
    def test_stand_side_by_side(self):
        both = {"One": results([result("jax", "torch fused"), result("jax", "torch fused", threads=2)]),
                "Two": results([result("jax", "torch fused") | {"peers": [side("jax", 3.0), side("torch fused")]}]) | {"versions": ["jax 2"]}}
        text = machines.side_by_side(both)
        self.assertIn("| Two | Intel(R) one | 2 | 2026-01-02 | 0.0 | jax 2 |", text)
        self.assertIn("| step | threads | One: xgrad | One: best peer ÷ xgrad | One: goal | Two: xgrad |", text)
        self.assertIn("| vit | 1 | 1 ms | 20.00 [20.00, 20.00] | ≥ 1.35 | 1 ms | 3.00 [3.00, 3.00] | ≥ 1.35 |", text)
        self.assertIn("| vit | 2 | 1 ms | 20.00 [20.00, 20.00] | ≥ 1.35 |  |  |  |", text)  # Two was not measured there
        self.assertEqual(text.count("| vit |"), 3)  # two of steps, one of memory
        self.assertNotIn("forward pass", text)

    def test_the_lowest_ratio_of_each_class(self):
        def one(instructions, *ratios):
            return results([result() | {"peers": [side("jax", ratio), side("torch fused", 9.0)]} for ratio in ratios]) | {
                "machine": MACHINE | {"instructions": instructions}}

        text = machines.by_class({"One": one("avx512", 3.0, 2.0), "Two": one("avx512", 2.5), "Three": one("avx2", 1.5)})
        self.assertIn("| model | layers | width | tokens × batch | AVX2 | AVX-512 |", text)
        self.assertIn("| `vit` | 7 | 384 | 65 × 32 | 1.50 | 2.00 |", text)
        self.assertIn("| `long4k` | 1 | 128 | 4,096 × 1 |  |  |", text)

    def test_the_page_has_those_of_every_file(self):
        page = machines.PAGE.read_text()
        self.assertIn(f"<!-- bench/compare.py -->\n{machines.side_by_side(machines.known())}<!-- end -->", page)
        self.assertEqual(machines.WHOLE.read_text(), machines.whole(machines.known()))


class Adding(unittest.TestCase):
    def test_only_to_results_of_the_same_machine_and_peers(self):
        before = results([result("jax")])
        today = {"machine": MACHINE | {"date": "2026-01-03", "others": 0.2}, "versions": ["jax 1"]}
        added = compare.begun(before, today)
        self.assertEqual((added["training"], added["machine"]["date"]), (before["training"], "2026-01-02 and 2026-01-03"))
        self.assertEqual(compare.begun(added, today)["machine"], added["machine"])
        for other in ({"versions": ["jax 2"]}, {"machine": MACHINE | {"processor": "another"}}, {"machine": MACHINE | {"cores": 4}}):
            with self.assertRaises(SystemExit):
                compare.begun(before, today | other)
        self.assertEqual(compare.begun(None, today)["training"], [])


class Data(unittest.TestCase):
    def found(self, *medians):
        return [{"config": f"configs/c{i}.toml", "draw_ms": 0.1, "longer": [
            {"threads": 1, "step_ms": 2.0, "low": 0.0, "median": median, "high": 9.0}]} for i, median in enumerate(medians)]

    def test_a_row_for_each_config_that_waits_and_one_for_the_others(self):
        rows = data_path.tables(self.found(0.5, 2.5, -1, 3)).strip().splitlines()[2:]
        self.assertEqual([row.split(" | ")[0] for row in rows], ["| c1", "| c3", "| 2 others"])
        self.assertEqual([row.count("missed") for row in rows], [1, 1, 0])
        self.assertIn("at most 0.5 %", rows[2])
        self.assertIn("| all 1 | 1 |", data_path.tables(self.found(1)))
        self.assertEqual(data_path.tables(self.found(5)).count("missed"), 1)


if __name__ == "__main__":
    unittest.main()
