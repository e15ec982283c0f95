// Runs training steps of one model on one batch, on request. bench/compare.py compares them with
// PyTorch's steps.
//
//   train_step --batch 32 --tokens 16 --width 64 --heads 4 --layers 2 --vocabulary 16 --dropout 0.1
//   train_step ... --bf16  with matrix products of bfloat16
//
// reads commands from standard input and answers each with one line of JSON:
//
//   parameters             names and shapes, in the order of `load`
//   load FILE              all parameters as raw float32, then ids and targets (B, N) as raw int32
//   gradients FILE         writes all gradients as raw float32, without dropout and update; the
//                          loss
//   logits FILE            writes the logits (B, N, V) as raw float32, without dropout
//   step N                 N training steps: seconds of each, the last loss
//   predict N              N forward passes without a graph: seconds of each
//   products N             N times the matrix products of a training step alone: seconds of each
//   weights FILE           writes all parameters as raw float32
//   activations            a training step: bytes that forward keeps for backward, and the most
//                          that the step holds beside weights, small gradients and optimizer
//   memory                 peak resident bytes
//   faults                 minor page faults since the start
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/parameters.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "workload.hpp"

namespace {

using namespace xgrad;
using bench::Workload;

EncoderModelOptions model_options(const Workload& w) {
  EncoderModelOptions options;
  options.input.vocabulary = w.vocabulary;
  options.input.max_length = w.tokens;
  options.input.features = w.width;
  options.encoder.layers = w.layers;
  options.encoder.attention.width = w.width;
  options.encoder.attention.heads = w.heads;
  options.encoder.attention.dropout = w.dropout;
  options.encoder.dropout = w.dropout;
  options.classes = w.vocabulary;
  return options;
}

std::string json(const std::vector<double>& values) {
  std::ostringstream out;
  out.precision(12);
  for (const double value : values) out << (out.tellp() == 0 ? "[" : ", ") << value;
  return out.str() + "]";
}

class Bench {
 public:
  explicit Bench(const Workload& w, bool bf16)
      : bf16_(bf16),
        parameters_(1),
        model_(parameters_.root(), model_options(w)),
        optimizer_(make_optimizer<float>("adam", parameters_, {})),
        ids_(empty<std::int32_t>({w.batch, w.tokens})),
        targets_(empty<std::int32_t>({w.batch, w.tokens})) {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      ids_.data()[i] = std::int32_t(Rng(2).below(w.vocabulary, i));
      targets_.data()[i] = std::int32_t(Rng(3).below(w.vocabulary, i));
    }
  }

  std::string parameters() const {
    std::ostringstream out;
    for (const auto& p : parameters_) {
      out << (out.tellp() == 0 ? "[" : ", ") << "[\"" << p.name << "\", [";
      const Shape& shape = p.variable.shape();
      for (std::size_t i = 0; i < shape.size(); ++i) out << (i > 0 ? ", " : "") << shape[i];
      out << "]]";
    }
    return out.str() + "]";
  }

  void load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const auto read = [&](auto& tensor) {
      file.read(reinterpret_cast<char*>(tensor.data()), std::streamsize(tensor.size() * 4));
    };
    for (const auto& p : parameters_) read(p.variable.mutable_value());
    read(ids_);
    read(targets_);
    if (!file || file.peek() != EOF)
      throw std::runtime_error("load: " + path + " does not fit the model");
  }

  double gradients(const std::string& path) {
    const double loss = forward_backward(Context{});
    std::ofstream file(path, std::ios::binary);
    for (const auto& p : parameters_) write(p.variable.grad(), file);
    return loss;
  }

  void weights(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    for (const auto& p : parameters_) write(p.variable.value(), file);
  }

  void logits(const std::string& path) const {
    const NoGrad no_grad;
    std::ofstream file(path, std::ios::binary);
    write(output(Context{}).value(), file);
  }

  double step() {
    const double loss = forward_backward(training());
    optimizer_->step(1e-3);
    return loss;
  }

  std::string activations() {
    parameters_.zero_grad();
    const Counters counters;
    const Variable<float> loss = forward(training());
    const double kept = double(counters.live_bytes());
    loss.backward();
    return json({kept, double(counters.peak_bytes())});
  }

  void pack() const { pack_weights(parameters_); }

  double predict() const {
    const NoGrad no_grad;
    return double(output(Context{}).value().data()[0]);
  }

 private:
  static void write(const Tensor<float>& tensor, std::ostream& out) {
    out.write(reinterpret_cast<const char*>(tensor.data()), std::streamsize(tensor.size() * 4));
  }

  Variable<float> output(const Context& context) const {
    const Autocast products(bf16_);
    return model_({&ids_, nullptr, nullptr}, context);
  }

  Context training() const { return Context::train(/*seed=*/1, optimizer_->steps()); }

  Variable<float> forward(const Context& context) const {
    return cross_entropy(output(context), targets_);
  }

  double forward_backward(const Context& context) {
    parameters_.zero_grad();
    const Variable<float> loss = forward(context);
    loss.backward();
    return double(loss.value().data()[0]);
  }

  bool bf16_;
  Parameters<float> parameters_;
  EncoderModel<float> model_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  Ids ids_, targets_;
};

template <class F>
std::string timed(int count, const F& f) {
  std::vector<double> seconds;
  double last = 0;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    last = f();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return "{\"seconds\": " + json(seconds) + ", \"last\": " + std::to_string(last) + "}";
}

rusage used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double peak_bytes() {
  return double(used().ru_maxrss) * 1024;
}

void read_options(int argc, char** argv, Workload& w, bool& bf16) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--bf16") {
      bf16 = true;
      continue;
    }
    std::istringstream text(i + 1 < argc ? argv[++i] : "");
    const auto reads = [&](const char* option, auto& number) {
      return name == option && text >> number && text.peek() == EOF;
    };
    if (!reads("--batch", w.batch) && !reads("--tokens", w.tokens) && !reads("--width", w.width) &&
        !reads("--heads", w.heads) && !reads("--layers", w.layers) &&
        !reads("--vocabulary", w.vocabulary) && !reads("--dropout", w.dropout) &&
        !reads("--threads", w.threads)) {
      throw std::runtime_error("no option: " + name + ' ' + text.str());
    }
  }
}

std::string answer(Bench& bench, bench::Products& products, double before,
                   const std::string& command, std::istream& arguments) {
  std::string path;
  int count = 1;
  if (command == "parameters") return bench.parameters();
  if (command == "load" && arguments >> path) {
    bench.load(path);
    return "{}";
  }
  if (command == "gradients" && arguments >> path) return std::to_string(bench.gradients(path));
  if (command == "logits" && arguments >> path) {
    bench.logits(path);
    return "{}";
  }
  if (command == "step" && arguments >> count) return timed(count, [&] { return bench.step(); });
  if (command == "predict" && arguments >> count) {
    bench.pack();
    return timed(count, [&] { return bench.predict(); });
  }
  if (command == "products" && arguments >> count)
    return timed(count, [&] { return products.run(); });
  if (command == "weights" && arguments >> path) {
    bench.weights(path);
    return "{}";
  }
  if (command == "arithmetic") return std::string("\"") + arithmetic(false) + "\"";
  if (command == "activations") return bench.activations();
  if (command == "faults") return json({double(used().ru_minflt)});
  if (command == "memory") return json({peak_bytes(), before});
  throw std::runtime_error("unknown command: " + command);
}

}  // namespace

int main(int argc, char** argv) {
  Workload w;
  bool bf16 = false;
  try {
    read_options(argc, argv, w, bf16);
    set_threads(w.threads);
    const double before = peak_bytes();
    Bench bench(w, bf16);
    bench::Products products(w);
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream arguments(line);
      std::string command;
      arguments >> command;
      std::cout << answer(bench, products, before, command, arguments) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
