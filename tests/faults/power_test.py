"""C2: a power failure at any moment of a run, and of what goes on with one. Its system calls are recorded, and every state is made
that a disk may be left in after each of them (crash_states.py). In all of them every checkpoint verifies, the manifest lists it, no
completed save is lost, and the run goes on to the bits of an uninterrupted one, and removes old checkpoints as that one does. The same search must find what is wrong with a run that does not sync."""

import concurrent.futures
import copy
import functools
import itertools
import os
import pathlib
import queue
import re
import shutil
import tempfile

from crash_states import EVERY, Disk, File, Folder, decode, on_disk
from runs import FULL, RunTest, checkpoints, count, final, main, owes_validation, sealed_step, strace, tier, trained_steps

SHORT = ("train.steps=9", "schedule.warmup=5")  # all that a run without fsync needs, as its states double with each change that is not on disk
MEDIUM = ("train.steps=23", "train.keep=2")  # saves that find something to remove, and all subsets of the manifest's lines
KEPT = (*SHORT, "train.save_every=2", "train.keep=2")
OVERRIDES = tier(SHORT, MEDIUM)
CHANGE = ("--allow-change", "optim.lr", "optim.lr=0.003")


class PowerFailure(RunTest):
    def record(self, words, *options):
        """The calls of a command that works, in its folder, in hexadecimal."""
        log = self.folder / "log"
        done = self.execute([*strace(log, "-xx", "-s", 1 << 24, "-e", "trace=%file,%desc", *options), *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return log.read_text().splitlines()

    def recorded(self, overrides, *options):
        run = self.new_run()
        return run, self.record(self.words(run, *overrides), *options)

    def moments(self, run, lines, disk, published):
        """After each call that matters: the directory, and the newest step whose save the run took for completed."""
        completed = published
        for line in lines:
            changed = disk.replay(line)
            if line.startswith("renameat2"):
                name = decode(re.findall(r'"([^"]*)"', line)[1]).decode()
                published = int(name[5:15]) if name.startswith("step-") else published
            if line.startswith("write(") and changed is disk.top.names.get(run.name):
                completed = published  # it writes its logs, so it takes the save for done
            if changed:
                yield changed, completed
        yield changed or disk.top, published

    def states(self, run, lines, works=lambda kind: True, before=None, published=0, every=EVERY):
        """Distinct states, each with the newest step that some moment with this state took for saved."""
        disk, found = Disk(self.folder, works, every), {}
        disk.top.durable = disk.top.names = {"tiny.toml": File("tiny.toml"), **({run.name: before} if before else {})}
        for changed, completed in self.moments(run, lines, disk, published):
            for state in disk.states(changed):
                key = frozenset((path, data and data.digest) for path, data in state.items())
                known = found.get(key, (None, -1))
                found[key] = (state, max(completed, known[1]))
        self.assertTrue(disk.most <= EVERY or every < EVERY, "not every subset was made")
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
            if re.fullmatch(r"step-\d+\.h5", name) and data not in self.damaged:
                steps.append(self.verified(name, data))
        if None in steps:
            return "a checkpoint does not verify"
        if max(steps) < completed:
            return f"the save of step {completed} is lost"
        if not self.are_listed(state):
            return "the manifest does not list a checkpoint"
        logged = trained_steps(state.get(f"{run.name}/metrics.jsonl") or b"")
        return None if logged[:max(steps)] == [*range(1, max(steps) + 1)] else "rows before a checkpoint are lost"

    def are_listed(self, state):
        """Whether the manifest lists every checkpoint but those that are damaged, or owe their validation."""
        listed, files = {}, {}
        for path, data in state.items():
            name = path.rpartition("/")[2]
            if name == "manifest.sha256":
                lines = [line.split(b"  ") for line in data.split(b"\n")]
                listed = {line[1].decode(): line[0].decode() for line in lines if len(line) == 2 and len(line[0]) == 64 and b"\0" not in line[0]}
            elif re.fullmatch(r"step-\d+\.h5", name) and data not in self.damaged and not owes_validation(data):
                files[name] = data.digest.hex()
        return files.items() <= listed.items()

    @functools.cache
    def verified(self, name, data):
        return sealed_step(name, data)

    def judge(self, what, run, states, few, finish):
        """Looks at all states, and goes on from all, or from so few, to the end."""
        for state, completed in states:
            self.assertIsNone(self.fault(run, state, completed), sorted(state))
        resumed = [state for state, _ in (states if FULL else self.random.sample(states, min(len(states), few)))]
        self.in_parallel(finish, resumed)
        count(len(states), f"states of the disk after a power failure in {what}, all load old or new")
        count(len(resumed), "of them resumed to the end, with the same bits")

    def in_parallel(self, finish, states):
        """Each processor goes on from one state at a time, in a folder of its own."""
        folders = queue.SimpleQueue()

        def go_on(state):
            mine = copy.copy(self)
            mine.folder = folders.get()
            try:
                mine.make(state)
                finish(mine, state, f"{self.seed} {sorted(state)}")
            finally:
                folders.put(mine.folder)

        with tempfile.TemporaryDirectory() as above, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number in range(os.cpu_count()):
                folders.put(pathlib.Path(above) / str(number))
                shutil.copytree(self.folder, pathlib.Path(above) / str(number), ignore=shutil.ignore_patterns("run-*", "log"))
            try:
                for _ in pool.map(go_on, states):
                    pass
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def test_every_state_loads_and_goes_on(self):
        run, lines = self.recorded(OVERRIDES)
        self.whole(*OVERRIDES)
        self.judge("a run", run, self.states(run, lines), 20, lambda test, state, why: test.finish(test.folder / run.name, why, *OVERRIDES))

    def test_old_checkpoints_are_removed_afterwards(self):
        """The states with two checkpoints, before the saves that find something to remove."""
        run, lines = self.recorded(KEPT)
        half = next(number for number, line in enumerate(lines) if line.startswith("renameat2") and b"step-0000000004.h5" in decode(line.split('"')[3]))
        self.whole(*KEPT)
        states = [pair for pair in self.states(run, lines[:half + 2]) if sum(path.endswith(".h5") for path in pair[0]) == 2]
        self.judge("the first half of a run", run, states, 8,
                   lambda test, state, why: test.finish(test.folder / run.name, why, *KEPT))

    def test_what_makes_up_a_validation(self):
        """It puts a checkpoint in the place of the one with the mark."""
        run = self.stopped_inside_validation(9, *SHORT)
        before = on_disk(run)
        lines = self.record(self.words(run))
        self.assertTrue(any(line.startswith("renameat(") for line in lines))
        self.whole(*SHORT)
        self.judge("what makes up a validation", run, self.states(run, lines, before=before, published=9), 8,
                   lambda test, state, why: test.finish(test.folder / run.name, why, *SHORT))

    def killed(self):
        """A run that was killed with rows behind its last save; the last row, as a line of each other log, is torn."""
        run = self.killed_at(tier(9, 17), *OVERRIDES)
        for name, torn in (("metrics.jsonl", b'{"step":'), ("timing.jsonl", b'{"step":'), ("log.txt", b'{"step":'), ("checkpoints/manifest.sha256", b"0a1b2c3d")):
            with open(run / name, "ab") as log:
                log.write(torn)
        return run

    def test_what_goes_on_after_a_kill(self):
        """It cuts the logs back, and their fsync comes later."""
        run = self.killed()
        before, published = on_disk(run), self.latest(run)
        lines = self.record(self.words(run))
        self.assertGreaterEqual(sum(line.startswith("ftruncate(") for line in lines), 4)
        self.whole(*OVERRIDES)
        self.judge("what goes on with a killed run", run, self.states(run, lines, before=before, published=published), 8,
                   lambda test, state, why: test.finish(test.folder / run.name, why, *OVERRIDES))

    def test_another_config(self):
        """It is asked for again, or in every second state not: the run then ends by the config that it found."""
        run, old = self.killed(), self.whole(*OVERRIDES)
        before, published = on_disk(run), self.latest(run)
        lines = self.record([*self.words(run), *CHANGE])
        new, config = final(run), (run / "config.toml").read_bytes()
        self.assertNotEqual(old, new)

        def finish(test, state, why, again=itertools.cycle((True, False))):
            asks, found = next(again), test.folder / run.name
            done = test.execute([*test.words(found), *(CHANGE if asks else ())])
            test.assertEqual(done.returncode, 0, f"{why}: {done.stderr}")
            test.assertEqual(final(found), new if asks or state[f"{run.name}/config.toml"] == config else old, why)

        self.judge("a resume with another config", run, self.states(run, lines, before=before, published=published), 8, finish)

    def test_a_damaged_checkpoint(self):
        """It is set aside, and the run goes on from the one before."""
        run = self.new_run()
        self.execute(self.words(run, *OVERRIDES))
        older, damaged = checkpoints(run)[-2:]
        damaged.write_bytes(damaged.read_bytes()[:-1])
        self.damaged = {damaged.read_bytes()}
        before, published = on_disk(run), sealed_step(older.name, older.read_bytes())
        lines = self.record(self.words(run))
        self.assertTrue(any(line.startswith("renameat(") for line in lines))
        self.whole(*OVERRIDES)
        self.judge("a resume that finds a damaged checkpoint", run, self.states(run, lines, before=before, published=published), 8,
                   lambda test, state, why: test.finish(test.folder / run.name, why, *OVERRIDES))

    def test_a_run_that_does_not_sync_is_found_out(self):
        """The negative control: fsync is taken out of the run, then that of files alone and of directories alone from the model."""
        controls = [("no fsync at all", ("-e", "inject=fsync:retval=0"), lambda kind: True),
                    ("no fsync of files", (), lambda kind: kind is Folder),
                    ("no fsync of directories", (), lambda kind: kind is File)]
        for name, options, works in controls:
            with self.subTest(name):
                run, lines = self.recorded(SHORT, *options)
                faults = {self.fault(run, state, completed) for state, completed in self.states(run, lines, works, every=3)}
                self.assertTrue(faults - {None}, "the harness finds nothing")
                count(len(faults - {None}), f"kinds of damage found in a run with {name}")


if __name__ == "__main__":
    main()
