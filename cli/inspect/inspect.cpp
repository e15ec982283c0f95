#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/checkpoint/manifest.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/logs/history.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run;
  bool config = false;
};

constexpr std::size_t kHashDigits = 16;  // shown of a SHA-256: enough to tell two tensors apart
constexpr std::size_t kMostText = 64;    // shown of a state, which may hold a whole vocabulary

template <class T>
void print_tensor(const std::string& name, const Tensor<T>& x) {
  const auto [low, high] = std::minmax_element(x.data(), x.data() + x.size());
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += double(x.data()[i]) * double(x.data()[i]);
  const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
  fmt::print("{:<48} {:>14} {:>7} {:>11.4g} {:>11.4g} {:>11.4g}  {}\n", name, to_string(x.shape()),
             sizeof(T) == 4 ? "float" : "double", x.size() > 0 ? double(*low) : 0.0,
             x.size() > 0 ? double(*high) : 0.0,
             x.size() > 0 ? std::sqrt(squares / double(x.size())) : 0.0,
             to_hex(sha256(bytes)).substr(0, kHashDigits));
}

void print_all(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& entry : tensors) {
    std::visit([&](const auto& tensor) { print_tensor(entry.name, tensor); }, entry.tensor);
  }
}

// Prints the validations of the checkpoint's run, up to its step.
void print_history(const FoundRun& source) {
  if (source.directory.empty()) return;
  fmt::print("\n{:<48} {:>14}\n", "validation", "loss");
  for (const MetricsRow& row : read_run(source.directory).rows) {
    if (row.split != "validation" || row.step > source.checkpoint.step) continue;
    fmt::print("step {:<43} {:>14.6g}\n", row.step, row.number("loss").value_or(NAN));
  }
}

// Prints what the certificate of the run's gradients says.
void print_gradients(const FoundRun& source) {
  if (source.directory.empty()) return;
  const auto certificate = read_certificate(source.directory);
  if (certificate) fmt::print("{}: {}\n", kCertificate, sentence(*certificate));
}

int inspect(const Arguments& arguments) {
  const FoundRun source = find_run(arguments.run);
  const Checkpoint& checkpoint = source.checkpoint;
  if (arguments.config) {
    fmt::print("{}", checkpoint.config);
    return 0;
  }
  fmt::print("{}\nstep {}, {} parameters in {} tensors\n", source.file, checkpoint.step,
             grouped(count(checkpoint.parameters)), checkpoint.parameters.size());
  for (const auto& [name, value] : checkpoint.state) {
    if (const auto* text = std::get_if<std::string>(&value); text && text->size() > kMostText) {
      fmt::print("{} = {}... ({} bytes)\n", name, text->substr(0, kMostText), text->size());
      continue;
    }
    std::visit([&, &key = name](const auto& v) { fmt::print("{} = {}\n", key, v); }, value);
  }
  print_gradients(source);
  print_history(source);
  fmt::print("\n{:<48} {:>14} {:>7} {:>11} {:>11} {:>11}  {}\n", "tensor", "shape", "type", "min",
             "max", "rms", "SHA-256");
  print_all(checkpoint.parameters);
  print_all(checkpoint.optimizer);
  return 0;
}

}  // namespace

Command inspect_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "inspect", "Show what a checkpoint holds",
      {{"run", kRun, &a->run, kRequired}, {"--config", "print only its config", &a->config}},
      [a] { return inspect(*a); });
}

}  // namespace xgrad::commands
