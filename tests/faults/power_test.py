"""C2: a power failure at any moment of a run. The run's system calls are recorded, and every state is made that a disk may be
left in after each of them (crash_states.py). In all of them every checkpoint verifies, no completed save is lost, and the run
goes on to the bits of an uninterrupted one. The same search must find what is wrong with a run that does not sync."""

import functools
import re
import shutil

from crash_states import Disk, File, Folder, decode, on_disk
from runs import FULL, RunTest, count, main, sealed_step, strace, tier, trained_steps

SHORT = ("train.steps=9", "schedule.warmup=5")  # all that a run without fsync needs, as its states double with each change that is not on disk
OVERRIDES = tier(SHORT, ())


class PowerFailure(RunTest):
    def record(self, overrides, *options, run=None):
        """The calls of a run in its folder, in hexadecimal, and what it left; of `run`, where given, those with which it goes on."""
        run, log = run or self.new_run(), self.folder / "log"
        done = self.execute([*strace(log, "-xx", "-s", 1 << 24, "-e", "trace=%file,%desc", *options), *self.words(run, *overrides)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return run, log.read_text().splitlines()

    def moments(self, run, lines, works, before=None):
        """After each call that matters: the disk, the directory, and the newest step whose save the run took for completed."""
        disk, published, completed = Disk(self.folder, works), 0, 0
        disk.top.durable = disk.top.names = {"tiny.toml": File(), **({run.name: before} if before else {})}
        for line in lines:
            changed = disk.replay(line)
            if line.startswith("renameat2"):
                name = decode(re.findall(r'"([^"]*)"', line)[1]).decode()
                published = int(name[5:15]) if name.startswith("step-") else published
            if line.startswith("write(") and changed is disk.top.names.get(run.name):
                completed = published  # it writes its logs, so it takes the save for done
            if changed:
                yield disk, changed, completed
        yield disk, changed or disk.top, published

    def states(self, run, lines, works=lambda kind: True, before=None):
        """Distinct states, each with the newest step that some moment with this state took for saved."""
        found = {}
        for disk, changed, completed in self.moments(run, lines, works, before):
            for state in disk.states(changed):
                key = frozenset((path, data and data.digest) for path, data in state.items())
                known = found.get(key, (None, -1))
                found[key] = (state, max(completed, known[1]))
        return list(found.values())

    def make(self, state):
        for path in self.folder.glob("run-*"):
            shutil.rmtree(path)
        for path, data in sorted(state.items()):
            if path == "tiny.toml":
                continue
            elif data is None:
                (self.folder / path).mkdir()
            else:
                (self.folder / path).write_bytes(data)

    def fault(self, run, state, completed):
        """What is wrong with what the disk was left with."""
        steps = [0]
        for path, data in state.items():
            name = path.rpartition("/")[2]
            if name.startswith("step-"):
                steps.append(self.verified(name, data))
        if None in steps:
            return "a checkpoint does not verify"
        if max(steps) < completed:
            return f"the save of step {completed} is lost"
        logged = trained_steps(state.get(f"{run.name}/metrics.jsonl") or b"")
        return None if logged[:max(steps)] == [*range(1, max(steps) + 1)] else "rows before a checkpoint are lost"

    @functools.cache
    def verified(self, name, data):
        return sealed_step(name, data)

    def test_every_state_loads_and_goes_on(self):
        run, lines = self.record(OVERRIDES)
        self.judge(run, self.states(run, lines), OVERRIDES)

    def test_what_makes_up_a_validation(self):
        """It puts a checkpoint in the place of the one with the mark."""
        run = self.stopped_inside_validation(9, *SHORT)
        before = on_disk(run)
        _, lines = self.record((), run=run)
        self.assertTrue(any(line.startswith("renameat(") for line in lines))
        self.judge(run, self.states(run, lines, before=before), SHORT)

    def judge(self, run, states, overrides):
        self.whole(*overrides)
        for state, completed in states:
            self.assertIsNone(self.fault(run, state, completed), sorted(state))
        resumed = states if FULL else self.random.sample(states, min(len(states), 20))
        for state, completed in resumed:
            self.make(state)
            self.finish(run, f"{self.seed} {sorted(state)}", *overrides)
        count(len(states), "states of the disk after a power failure, all load old or new")
        count(len(resumed), "of them resumed to the end, with the same bits")

    def test_a_run_that_does_not_sync_is_found_out(self):
        """The negative control: fsync is taken out of the run, then that of files alone and of directories alone from the model."""
        controls = [("no fsync at all", ("-e", "inject=fsync:retval=0"), lambda kind: True),
                    ("no fsync of files", (), lambda kind: kind is Folder),
                    ("no fsync of directories", (), lambda kind: kind is File)]
        for name, options, works in controls:
            with self.subTest(name):
                run, lines = self.record(SHORT, *options)
                faults = {self.fault(run, state, completed) for state, completed in self.states(run, lines, works)}
                self.assertTrue(faults - {None}, "the harness finds nothing")
                count(len(faults - {None}), f"kinds of damage found in a run with {name}")


if __name__ == "__main__":
    main()
