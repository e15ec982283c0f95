// The commands export, import and construct, which write weights.
#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/scripts.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/export/export.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

struct ExportArguments {
  std::string run, to, out, naming = "torch";
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

WeightFile file_of(const FoundRun& source) {
  return {source.checkpoint.parameters, source.checkpoint.config};
}

std::unique_ptr<Task> task_of(const FoundRun& source) {
  return make_task(source.config, &source.checkpoint);
}

// Adds a file of the model's results for some examples, computed in T and the arithmetic of
// `config`. If the data is missing, adds a note instead.
template <class T>
void add_reference(const FoundRun& source, const Config& config, const Task& task, Files& result,
                   bool replaces = false) {
  try {
    const TrainedModel<T> trained(config, source.checkpoint, task.shape(), source.file);
    const Objective objective = make_objective(config.train, task.shape());
    result.files.push_back({".reference.npz",
                            reference_npz(*trained.model, trained.parameters, task, objective),
                            replaces});
  } catch (const DataError& error) {
    result.note = fmt::format("no reference: {}", error.what());
  }
}

// Computes the reference in double: a trained model's gradients are small, and float leaves few
// correct digits.
Files npz(const FoundRun& source) {
  const std::unique_ptr<Task> task = task_of(source);
  const TaskShape shape = task->shape();
  Files result{{{"", to_npz(file_of(source))}}};
  add_reference<double>(source, source.config, *task, result, /*replaces=*/true);
  if (!result.note.empty()) return result;
  std::vector<std::string> unknown = unknown_settings(source.config, plain_encoder());
  if (shape.graph) unknown.push_back("graphs");
  if (shape.target == TargetKind::binary) unknown.push_back("targets that are yes or no");
  if (unknown.empty()) {
    result.files.push_back({".check.py", kCheckNpz, /*replaces=*/true});
  } else {
    result.note = fmt::format("no checker, which does not know {}", fmt::join(unknown, ", "));
  }
  return result;
}

// Computes the reference in float, as the file does: onnxruntime has no erf in double.
Files onnx(const FoundRun& source) {
  const std::unique_ptr<Task> task = task_of(source);
  Files result{{{"", to_onnx(source.config, task->shape(), source.checkpoint)}}};
  Config config = source.config;
  config.train.precision = "float";
  add_reference<float>(source, config, *task, result);
  return result;
}

// A file of weights, and a reference in the run's precision.
Files alone(const FoundRun& source, std::string bytes) {
  Files result{{{"", std::move(bytes)}}};
  with_precision(source.config, [&]<class T>() {
    add_reference<T>(source, source.config, *task_of(source), result);
  });
  return result;
}

// Weights named as in `library`. The note gives the code that builds the model there.
Files named_as(const std::string& library, const FoundRun& source) {
  const LibraryModel model =
      to_library(library, source.config, task_of(source)->shape(), source.checkpoint.parameters);
  Files result = alone(source, to_safetensors({model.parameters, source.checkpoint.config}));
  result.note = model.constructor + (result.note.empty() ? "" : "\n# " + result.note);
  return result;
}

// Whether a file has these bytes.
bool has_bytes(const std::string& path, std::string_view bytes) try {
  const InputFile file(path);
  return file.size() == bytes.size() && file.read(0, file.size()) == bytes;
} catch (const IoError&) {
  return false;
}

// Writes all files, or none if one of the names is taken. Completes an export that was killed: then
// some of the files are there, with these bytes.
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
  const bool renamed = a.naming != "torch";
  xgrad::check<ConfigError>(!renamed || a.to == "safetensors", "--naming ", a.naming,
                            " needs --to safetensors, not ", a.to);
  FoundRun source = find_run(a.run);
  source.checkpoint = weights_of(source.checkpoint, a.raw);
  const Files files = renamed          ? named_as(a.naming, source)
                      : a.to == "npz"  ? npz(source)
                      : a.to == "onnx" ? onnx(source)
                      : a.to == "hdf5" ? alone(source, to_hdf5(source.checkpoint))
                                       : alone(source, to_safetensors(file_of(source)));
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
  if (const std::string learned = task->learned(); !learned.empty()) {
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
       {"--naming", "library whose tensor names to use; all but torch need --to safetensors",
        &a->naming, Rules{.choices = std::move(namings)}},
       {"--raw",
        "with train.ema or train.swa_start: the weights of the last step, not their average",
        &a->raw}},
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
      "construct", "Write a checkpoint of an encoder whose weights are known, or list them",
      {{"name", "name of an encoder; default: list all", &a->name},
       {"overrides", "task.KEY=VALUE sets a key of its task, train.seed the noise", &a->overrides},
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
