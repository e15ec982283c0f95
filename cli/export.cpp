// The commands export, import and construct, which write weights.
#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/scripts.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/archives/zip.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/export/export.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

struct ExportArguments : RunArguments {
  std::string to, out, naming = "torch";
  bool raw = false;
};

// Says how many weights a file has.
void print_weights(const std::string& file, const Checkpoint& checkpoint, const std::string& of) {
  fmt::print("{}: {} numbers in {} tensors{}\n", file, grouped(count(checkpoint.parameters)),
             checkpoint.parameters.size(), of);
}

struct File {
  std::string ending;  ///< follows the name of --out; empty: --out itself
  std::string bytes;
  bool replaces = false;  ///< whether the ending replaces the extension of --out

  fs::path path(fs::path out) const { return (replaces ? out.replace_extension() : out) += ending; }
};

// The files of an export; `note` says why one is missing, or how to build the model.
struct Files {
  std::vector<File> files;
  std::string note = {};
};

template <class T>
void add(ZipArchive& archive, const std::string& name, const Tensor<T>& tensor) {
  archive.members.push_back({name + ".npy", to_npy(tensor)});
}

void add_input(ZipArchive& archive, const Batch& batch) {
  if (batch.features.dimension() == 4) return add(archive, "image", batch.features);
  const bool vectors = batch.features.dimension() == 3;
  if (vectors) add(archive, "vectors", batch.features);
  if (!vectors) add(archive, "ids", batch.ids);
  const Shape& shape = vectors ? batch.features.shape() : batch.ids.shape();
  add(archive, "mask", batch.mask ? *batch.mask : full<std::uint8_t>({shape[0], shape[1]}, 1));
  if (batch.adjacency) add(archive, "adjacency", *batch.adjacency);
}

// An npz archive with the first examples of the validation split, at most 100, as one batch:
//
//     ids (B, N) or vectors (B, N, F), with mask (B, N) and, for graphs, adjacency (B, N, N);
//     or image (B, H, W, C); for an encoder-decoder also decoder_ids (B, M);
//     targets, -100 where a target does not count, or numbers with a mask `valid`; logits;
//     loss, the mean loss of `objective` over the targets that count; gradient.NAME per parameter
//
// computed without dropout, label smoothing and the penalty on heads. Changes the parameters'
// gradients. Throws DataError if the task's files are missing.
template <class T>
std::string reference_npz(const TrainedModel<T>& trained, const Task& task, Objective objective) {
  const std::unique_ptr<Dataset> dataset = task.dataset(Split::validation);
  const Batch batch = Loader(*dataset, task.shape(), {.batch = 100}).next();
  const Variable<T> logits = (*trained.model)(BatchInput<T>(batch).input(), Context{});
  objective.label_smoothing = 0;
  const Variable<T> loss = mean_loss(objective, logits, batch);
  trained.parameters.zero_grad();
  loss.backward();

  ZipArchive archive;
  add_input(archive, batch);
  if (task.shape().output == OutputKind::generated) {
    add(archive, "decoder_ids", shift_right(batch.targets, std::int32_t(task.shape().classes)));
  }
  if (batch.targets.dimension() > 0) {
    add(archive, "targets", batch.targets);
  } else {
    add(archive, "targets", batch.values);
    add(archive, "valid", batch.valid ? *batch.valid : full<std::uint8_t>(batch.values.shape(), 1));
  }
  add(archive, "logits", logits.value());
  add(archive, "loss", loss.value());
  for (const Parameter<T>& p : trained.parameters)
    add(archive, "gradient." + p.name, p.variable.grad());
  return to_zip(archive);
}

// Adds a file of the model's results for some examples, computed in the arithmetic of `config`. If
// the data is missing, adds nothing and returns the reason.
std::string add_reference(const FoundRun& source, const Config& config, const Task& task,
                          bool replaces, std::vector<File>& files) try {
  with_precision(config, [&]<class T>() {
    const TrainedModel<T> trained(config, source.checkpoint, task.shape(), source.file);
    const Objective objective = make_objective(config.train, task.shape());
    files.push_back({".reference.npz", reference_npz(trained, task, objective), replaces});
  });
  return "";
} catch (const DataError& error) {
  return fmt::format("no reference: {}", error.what());
}

// Adds a program that checks an npz file. If it supports no such model, adds nothing and returns
// the reason.
std::string add_checker(const Config& config, const TaskShape& shape, std::vector<File>& files) {
  std::vector<std::string> unknown = unknown_settings(config, plain_encoder());
  if (shape.graph) unknown.push_back("graphs");
  if (shape.target == TargetKind::binary) unknown.push_back("targets that are yes or no");
  if (unknown.empty()) files.push_back({".check.py", kCheckNpz, /*replaces=*/true});
  return unknown.empty()
             ? ""
             : fmt::format("no checker, because it does not support {}", fmt::join(unknown, ", "));
}

// The files of an export. The note says why one is missing, or how to build the model.
Files files_of(const FoundRun& source, const std::string& to, const std::string& naming) {
  const std::unique_ptr<Task> task = make_task(source.config, &source.checkpoint);
  WeightFile weights{source.checkpoint.parameters, source.checkpoint.config};
  Files result{{{}}};
  std::string& bytes = result.files[0].bytes;
  std::string code;
  Config config = source.config;  // of the reference
  if (to == "npz") {  // a trained model's gradients are small: float leaves few correct digits
    config.train.precision = "double";
    bytes = to_npz(weights);
  } else if (to == "onnx") {  // float, as in the file: onnxruntime has no erf in double
    config.train.precision = "float";
    bytes = to_onnx(config, task->shape(), source.checkpoint);
  } else if (to == "hdf5") {
    bytes = to_hdf5(source.checkpoint);
  } else {
    if (naming != "torch") {
      LibraryModel model = to_library(naming, config, task->shape(), weights.tensors);
      weights.tensors = std::move(model.parameters);
      code = model.constructor;
    }
    bytes = to_safetensors(weights);
  }
  result.note = add_reference(source, config, *task, to == "npz", result.files);
  if (to == "npz" && result.note.empty()) {
    result.note = add_checker(source.config, task->shape(), result.files);
  }
  if (!code.empty()) result.note = code + (result.note.empty() ? "" : "\n# " + result.note);
  return result;
}

// Whether a file has these bytes.
bool has_bytes(const std::string& path, std::string_view bytes) try {
  const InputFile file(path);
  return file.size() == bytes.size() && file.read(0, file.size()) == bytes;
} catch (const IoError&) {
  return false;
}

// Writes all files, or none if one of the names is taken. A file that already holds the same bytes
// does not count: an earlier export was killed, and this one completes it.
void publish_all(const Files& files, const fs::path& out) {
  std::vector<std::pair<std::string, std::string_view>> all, missing;
  for (const File& file : files.files) {
    const auto& [path, bytes] = all.emplace_back(file.path(out).string(), file.bytes);
    if (!has_bytes(path, bytes)) missing.emplace_back(path, bytes);
  }
  if (missing.empty()) missing = all;
  for (const auto& [path, bytes] : missing) check_new(path);
  for (const auto& [path, bytes] : missing) publish_file(path, bytes);
}

int export_weights(const ExportArguments& a) {
  xgrad::check<ConfigError>(a.naming == "torch" || a.to == "safetensors", "--naming ", a.naming,
                            " needs --to safetensors, not ", a.to);
  FoundRun source = a.find();
  source.checkpoint = weights_of(source.checkpoint, a.raw);
  const Files files = files_of(source, a.to, a.naming);
  publish_all(files, a.out);
  print_weights(a.out, source.checkpoint, ", of " + source.file);
  for (const File& file : files.files) {
    if (!file.ending.empty()) fmt::print("{}\n", file.path(a.out).string());
  }
  if (!files.note.empty()) fmt::print("{}\n", files.note);
  return 0;
}

template <class T>
Checkpoint import_into(const Config& config, const std::string& file, const std::string& format) {
  const std::unique_ptr<Task> task = make_task(config);
  Parameters<T> parameters(config.train.seed);
  const auto model = make_model<T>(config, task->shape(), parameters);
  const auto weights = read_foreign(InputFile(file), format, parameters.count());
  restore_weights(weights, file, parameters);
  Checkpoint checkpoint;
  checkpoint.parameters = capture(parameters);
  checkpoint.config = to_toml(config, /*with_execution_keys=*/false);
  if (const std::string learned = task->vocabulary_and_scales(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  return checkpoint;
}

}  // namespace

Command export_command() {
  const auto a = std::make_shared<ExportArguments>();
  std::vector<std::string> namings = library_names();
  namings.insert(namings.begin(), "torch");
  return Command(
      "export", "Export the weights to a new file for other programs",
      {{"run", kRun, &a->run, kRequired},
       {"--to", "the file format", &a->to,
        Rules{.required = true, .choices = {"safetensors", "hdf5", "npz", "onnx"}}},
       {"--out", "the new file", &a->out, Rules{.required = true, .new_path = true}},
       {"--naming", "name the tensors as this library does; all but torch need --to safetensors",
        &a->naming, Rules{.choices = std::move(namings)}},
       {"--raw",
        "with train.ema or train.swa_start: export the weights of the step, not their average",
        &a->raw},
       last_option(*a)},
      [a] { return export_weights(*a); });
}

Command import_command() {
  struct Arguments : ConfigArguments {
    std::string file, from, out;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "import", "Make a checkpoint from a weight file of another program",
      {{"file", "the weight file", &a->file, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--from", "the file format", &a->from,
        Rules{.required = true, .choices = foreign_formats()}},
       {"--config", "a TOML file whose model has these weights", &a->config, kRequired},
       {"--out", "the new checkpoint", &a->out, Rules{.required = true, .new_path = true}}},
      [a] {
        const Config config = load_config(a->config, a->overrides);
        const Checkpoint checkpoint = with_precision(
            config, [&]<class T>() { return import_into<T>(config, a->file, a->from); });
        publish_file(a->out, to_hdf5(checkpoint));
        print_weights(a->out, checkpoint, ", of " + a->file);
        return 0;
      });
}

Command construct_command() {
  struct Arguments {
    std::string name, out;
    std::vector<std::string> overrides;
    double noise = 0;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "construct",
      "Write a checkpoint of an encoder with weights set by hand, or list these encoders",
      {{"name", "name of the encoder; default: list all", &a->name},
       {"overrides",
        "task.KEY=VALUE sets a key of the encoder's task, train.seed=N the seed of --noise",
        &a->overrides},
       {"--noise", "add normal noise of this standard deviation to every weight", &a->noise,
        kPositive},
       {"--out", "the new checkpoint; default: NAME.h5", &a->out, kNewPath}},
      [a] {
        if (a->name.empty()) {
          for (const ConstructedEncoder& encoder : constructed_encoders()) {
            fmt::print("{:<10} {}\n", encoder.name, encoder.help);
          }
          return 0;
        }
        const ConstructedEncoder& encoder = find_constructed_encoder(a->name);
        const std::string out = a->out.empty() ? encoder.name + ".h5" : a->out;
        const Checkpoint checkpoint = construct(encoder, a->overrides, a->noise);
        publish_file(out, to_hdf5(checkpoint));
        print_weights(out, checkpoint, "");
        return 0;
      });
}

}  // namespace xgrad::commands
