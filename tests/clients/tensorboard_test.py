"""TensorBoard reads what a run writes, of every kind, while it trains and after it was killed."""

import venv

venv.need("numpy", "PIL", "tensorboard")

import io  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import time  # noqa: E402
import tomllib  # noqa: E402

import numpy  # noqa: E402
from command import CommandTest, signal, unittest  # noqa: E402
from PIL import Image  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader  # noqa: E402
from tensorboard.plugins.hparams import plugin_data_pb2  # noqa: E402

BOARD = "log.tensorboard=true"
EVERYTHING = {"tensors": 0, "histograms": 0, "scalars": 0, "images": 0}  # 0: without sampling


def load(folder):
    return EventAccumulator(str(folder), size_guidance=EVERYTHING).Reload()


def attention(weights, ids, heads):
    """What each head of the first layer takes from each token, (heads, tokens, tokens)."""
    x = weights["embedding.token.weight"][ids] + weights["embedding.position.weight"][:len(ids)]
    x = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
    x = x * weights["encoder.layers.0.norm1.weight"] + weights["encoder.layers.0.norm1.bias"]
    q, k, _ = (part.reshape(len(ids), heads, -1).transpose(1, 0, 2)
               for part in numpy.split(x @ weights["encoder.layers.0.self_attn.in_proj_weight"].T, 3, axis=1))
    p = numpy.exp(q @ k.transpose(0, 2, 1) / q.shape[2] ** 0.5)
    return p / p.sum(2, keepdims=True)


def files(folder):
    return sorted(folder.glob("events.out.tfevents.*"))


class TensorBoard(CommandTest):
    def train(self, run, *words):
        self.xgrad("train", "small.toml", f"run.dir={run}", BOARD, "--quiet", *words)
        return self.folder / run

    def check_scalars(self, run, board):
        """Every number of metrics.jsonl, at its step, once."""
        wanted = {}
        for row in self.rows(run):
            for name, value in row.items():
                if name not in ("step", "split") and not name.endswith("_se") and isinstance(value, float):
                    wanted.setdefault(f"{name}/{row['split']}", []).append((row["step"], numpy.float32(value)))
        self.assertGreaterEqual(len(wanted), 8)
        for tag, values in wanted.items():
            self.assertEqual([(s.step, numpy.float32(s.value)) for s in board.Scalars(tag)], values, tag)
        self.assertIn("lr/train", wanted)
        self.assertIn("grad_norm/train", wanted)

    def test_every_kind_is_there(self):
        run = self.train("run")
        board = load(run)
        self.check_scalars("run", board)
        self.assertIn("tokens_per_second", board.Tags()["scalars"])

        # Of the last evaluation, which is the end of the run.
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.npz") as file:
            weights = dict(file)
        for name, array in weights.items():
            events = board.Histograms("weights/" + name)
            self.assertEqual([e.step for e in events], [25, 50, 60])
            h, array = events[-1].histogram_value, array.astype(float)
            self.assertEqual((h.num, h.min, h.max), (array.size, array.min(), array.max()))
            self.assertAlmostEqual(h.sum, array.sum(), places=6)
            self.assertAlmostEqual(h.sum_squares, (array**2).sum(), places=6)
            edges = [-numpy.inf, *h.bucket_limit]
            self.assertEqual(list(numpy.histogram(array, edges)[0]), list(h.bucket))
            gradient = board.Histograms("gradients/" + name)[-1].histogram_value
            self.assertEqual(gradient.num, array.size)
            self.assertGreater(gradient.sum_squares, 0)
        norm = sum(board.Histograms("gradients/" + name)[-1].histogram_value.sum_squares for name in weights) ** 0.5
        self.assertAlmostEqual(norm, self.rows("run")[-3]["grad_norm"], places=5)  # of step 60, before clipping

        config = board.Tensors("config/text_summary" if "config/text_summary" in board.Tags()["tensors"] else "config")
        text = config[0].tensor_proto.string_val[0].decode()
        self.assertEqual("\n".join(line[4:] for line in text.split("\n")), (run / "config.toml").read_text())

    def test_pictures_of_attention(self):
        run = self.train("run")
        board = load(run)
        self.assertEqual(board.Tags()["images"], ["attention/encoder.layers.0.self_attn"])
        events = board.Images("attention/encoder.layers.0.self_attn")
        self.assertEqual([e.step for e in events], [25, 50, 60])
        self.assertLess(max(len(e.encoded_image_string) for e in events), 3000)
        last = Image.open(io.BytesIO(events[-1].encoded_image_string))
        self.assertEqual((last.format, last.mode, last.size), ("PNG", "RGB", (events[-1].width, events[-1].height)))

        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.npz") as file, numpy.load(self.folder / "w.reference.npz") as reference:
            ids = reference["ids"][0][reference["mask"][0].astype(bool)]
            maps = attention({name: x.astype(float) for name, x in file.items()}, ids, heads=2)
        square = 128 // len(ids)
        self.assertEqual(last.size, (2 * square * len(ids) + 4, square * len(ids)))
        pixels = numpy.asarray(last).astype(float)
        for head, p in enumerate(maps):
            centres = (numpy.arange(len(ids)) + 0.5) * square
            found = pixels[numpy.ix_(centres.astype(int), (centres + head * (square * len(ids) + 4)).astype(int))]
            dark = numpy.sqrt(p / p.max())[:, :, None]
            self.assertLess(float(numpy.abs(found - (247 + dark * (numpy.array([8, 48, 107]) - 247))).max()), 1.1)
        self.assertGreater(float(maps.std()), 0.01)

    def test_pictures_of_a_decoder(self):
        board = load(self.train("run", "model.kind=encoder_decoder", "task.min_length=4", "task.length=4"))
        modules = ["decoder.layers.0.multihead_attn", "decoder.layers.0.self_attn", "encoder.layers.0.self_attn"]
        self.assertEqual(sorted(board.Tags()["images"]), [f"attention/{module}" for module in modules])
        # Two heads beside each other; outputs are one longer than inputs, since they have an end.
        sizes = {(e.width, e.height) for module in modules for e in board.Images(f"attention/{module}")}
        self.assertEqual(sizes, {(2 * 4 * 25 + 4, 5 * 25), (2 * 5 * 25 + 4, 5 * 25), (2 * 4 * 32 + 4, 4 * 32)})

    def test_no_pictures_without_attention_or_of_long_inputs(self):
        self.assertEqual(load(self.train("mlp", "model.kind=mlp")).Tags()["images"], [])
        long = self.train("long", "task.length=200", "task.min_length=200", "train.steps=2", "train.batch=2", "task.validation=2")
        self.assertEqual(load(long).Tags()["images"], [])

    def test_hyperparameters(self):
        content = load(self.train("run")).PluginTagToContent("hparams")
        data = {tag: plugin_data_pb2.HParamsPluginData.FromString(content[tag]) for tag in content}
        self.assertEqual(sorted(data), [f"_hparams_/{name}" for name in ("experiment", "session_end_info",
                                                                         "session_start_info")])
        values = data["_hparams_/session_start_info"].session_start_info.hparams
        found = {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()}
        config = tomllib.loads(self.xgrad("inspect", "run", "--config").stdout)
        for section, keys in config.items():
            for key, value in keys.items():
                if section != "expect":
                    # TensorBoard knows no lists.
                    self.assertEqual(found.pop(f"{section}.{key}"), str(value) if isinstance(value, list) else value)
        self.assertEqual(found, {})
        experiment = data["_hparams_/experiment"].experiment
        self.assertEqual({i.name for i in experiment.hparam_infos}, set(values))
        self.assertEqual([m.name.tag for m in experiment.metric_infos], ["loss/validation", "loss/test"])
        self.assertEqual(data["_hparams_/session_end_info"].session_end_info.status, 1)

    def test_a_killed_run_goes_on_without_a_seam(self):
        words = ("train.steps=400", "train.evaluate_every=90", "train.save_every=11")
        process = self.start("train", "small.toml", *words, "run.dir=run", BOARD)
        self.wait_for_checkpoint(process, "run", 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.xgrad("resume", "run", "--quiet")
        self.assertEqual(len(files(self.folder / "run")), 2)
        self.check_scalars("run", load(self.folder / "run"))

    def test_killed_before_the_first_save_and_begun_anew(self):
        words = ("train.steps=400", "train.evaluate_every=400", "train.save_every=400")
        process = self.start("train", "small.toml", *words, "run.dir=run", BOARD)
        while not self.folder.joinpath("run/metrics.jsonl").exists() or len(self.rows("run")) < 5:
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(self.checkpoints("run"), [])
        self.xgrad("resume", "run", "--quiet")
        self.check_scalars("run", load(self.folder / "run"))

    def test_what_a_rollback_undid_is_not_shown(self):
        run = self.train("run", "train.on_spike=rollback", "train.spike=1.13", "train.save_every=20", "log.every=1",
                         "train.steps=95")
        self.assertIn("nothing was updated; training goes back to step", (run / "log.txt").read_text())
        self.check_scalars("run", load(run))

    def test_while_it_trains(self):
        process = self.start("train", "small.toml", "train.steps=100000", "run.dir=run", BOARD)
        run, seen = self.folder / "run", []
        deadline = time.monotonic() + 60
        while not files(run) and time.monotonic() < deadline:
            time.sleep(0.01)
        board = EventAccumulator(str(run), size_guidance=EVERYTHING)
        while len(seen) < 3 and time.monotonic() < deadline:
            board.Reload()
            steps = [s.step for s in board.Scalars("loss/train")] if "loss/train" in board.Tags()["scalars"] else []
            if steps and (not seen or steps[-1] > seen[-1]):
                seen.append(steps[-1])
            self.assertEqual(steps, list(range(10, 10 * len(steps) + 1, 10)))
        self.assertIsNone(process.poll())
        self.assertEqual(len(seen), 3)

    def test_records_are_whole_and_their_checksums_hold(self):
        [path] = files(self.train("run"))
        good = path.read_bytes()
        count = len(list(RawEventFileLoader(str(path)).Load()))
        self.assertGreater(count, 10)
        at, records = 0, 0
        while at < len(good):
            at += 16 + int.from_bytes(good[at:at + 8], "little")
            records += 1
        self.assertEqual((at, records), (len(good), count))
        # A flipped byte anywhere ends what TensorBoard reads: so it does look at the checksums.
        bad = self.write("events.out.tfevents.1.bad", good[:-20] + bytes([good[-20] ^ 1]) + good[-19:])
        self.assertLess(len(list(RawEventFileLoader(str(bad)).Load())), count)

    def test_changes_nothing_and_is_off_unless_asked_for(self):
        self.train("with")
        self.xgrad("train", "small.toml", "run.dir=without", "--quiet")
        self.assertEqual(self.final("with"), self.final("without"))
        self.assertEqual(files(self.folder / "without"), [])
        self.assertNotIn("tensorboard", json.dumps(self.rows("with")))


if __name__ == "__main__":
    logging.disable()
    unittest.main()
