#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/scripts.hpp>
#include <xgrad/storage/archives/npz.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/export/export.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

struct Arguments {
  std::string run, to, out, naming = "torch";
  bool raw = false;
};

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

Files hdf5(const FoundRun& source) {
  return alone(source, to_hdf5(source.checkpoint));
}

Files safetensors(const FoundRun& source) {
  return alone(source, to_safetensors(file_of(source)));
}

// Weights named as in `library`. The note gives the code that builds the model there.
Files named_as(const std::string& library, const FoundRun& source) {
  const LibraryModel model =
      to_library(library, source.config, task_of(source)->shape(), source.checkpoint.parameters);
  Files result = alone(source, to_safetensors({model.parameters, source.checkpoint.config}));
  result.note = model.constructor + (result.note.empty() ? "" : "\n# " + result.note);
  return result;
}

struct Format {
  std::string name;
  Files (*write)(const FoundRun&);
};
const std::vector<Format> kFormats = {
    {"safetensors", safetensors}, {"hdf5", hdf5}, {"npz", npz}, {"onnx", onnx}};

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

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.push_back(format.name);
  return names;
}

std::vector<std::string> namings() {
  std::vector<std::string> names{"torch"};
  names.insert(names.end(), library_names().begin(), library_names().end());
  return names;
}

int export_weights(const Arguments& arguments) {
  const bool renamed = arguments.naming != "torch";
  xgrad::check<ConfigError>(!renamed || arguments.to == "safetensors", "--naming ",
                            arguments.naming, " needs --to safetensors, not ", arguments.to);
  FoundRun source = find_run(arguments.run);
  source.checkpoint = weights_of(source.checkpoint, arguments.raw);
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& f) { return f.name == arguments.to; });
  const Files files = renamed ? named_as(arguments.naming, source) : format->write(source);
  publish_all(files, arguments.out);
  const std::vector<NamedTensor>& weights = source.checkpoint.parameters;
  fmt::print("{}: {} numbers in {} tensors, of {}\n", arguments.out, grouped(count(weights)),
             weights.size(), source.file);
  for (const File& file : files.files) {
    if (!file.ending.empty()) fmt::print("{}\n", file.path(arguments.out).string());
  }
  if (!files.note.empty()) fmt::print("{}\n", files.note);
  return 0;
}

}  // namespace

Command export_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "export", "Export the weights to a new file for other programs",
      {{"run", kRun, &a->run, kRequired},
       {"--to", "the file format", &a->to, {.required = true, .choices = format_names()}},
       {"--out", "the new file", &a->out, {.required = true, .new_path = true}},
       {"--naming",
        "library whose tensor names to use; all but torch need --to safetensors",
        &a->naming,
        {.choices = namings()}},
       {"--raw",
        "with train.ema or train.swa_start: the weights of the last step, not their average",
        &a->raw}},
      [a] { return export_weights(*a); });
}

}  // namespace xgrad::commands
