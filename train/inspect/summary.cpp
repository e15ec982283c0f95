#include <xgrad/train/inspect/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <xtensor/xview.hpp>

#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

namespace {

std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

bool holds(const std::string& module, const std::string& path) {
  return module.empty() || path == module || path.starts_with(module + ".");
}

// Assigns the ops of a step to the modules of a model.
class Tracer final : public OpObserver {
 public:
  Tracer(const Counters& counters, std::map<const void*, std::string> parameters)
      : counters_(counters), parameters_(std::move(parameters)) {}

  void begin(const char* name) override {
    const std::string_view what = name;
    if (what == "model") in_model_ = calls_.empty();  // only the first micro-batch
    if (what == "loss") in_model_ = false;
    if (what == "backward" && kept_ == 0) kept_ = counters_.live_bytes();
    flops_before_ = counters_.flops();
  }

  void end(const OpCall& call) override {
    if (call.kind != OpCall::Kind::forward || !in_model_) return;
    for (const Operand& x : call.inputs) {
      if (const auto found = parameters_.find(x.value); found != parameters_.end()) {
        module_ = module_of(found->second);
      }
    }
    Call kept{module_, call.name, {}, call.result.shape, counters_.flops() - flops_before_};
    for (const Operand& x : call.inputs) kept.inputs.push_back(x.shape);
    calls_.push_back(std::move(kept));
  }

  struct Call {
    std::string module, op;
    std::vector<Shape> inputs;
    Shape output;
    std::uint64_t flops;
  };
  const std::vector<Call>& calls() const { return calls_; }
  std::int64_t kept() const { return kept_; }

 private:
  const Counters& counters_;
  std::map<const void*, std::string> parameters_;
  std::string module_;
  bool in_model_ = false;
  std::uint64_t flops_before_ = 0;
  std::int64_t kept_ = 0;
  std::vector<Call> calls_;
};

template <class T>
std::map<const void*, std::string> addresses(const Parameters<T>& parameters) {
  std::map<const void*, std::string> found;
  for (const Parameter<T>& p : parameters) found[p.variable.shared_value().get()] = p.name;
  return found;
}

// Inserts a module behind its parent and siblings, whatever the order of the calls.
void insert(std::vector<ModuleSummary>& tree, const std::string& path) {
  const auto same = [&](const ModuleSummary& m) { return m.path == path; };
  if (std::any_of(tree.begin(), tree.end(), same)) return;
  const std::string parent = path.find('.') == path.npos ? "" : module_of(path);
  insert(tree, parent);
  auto at = tree.end();
  while (!holds(parent, (at - 1)->path)) --at;
  tree.insert(at, ModuleSummary{path});
}

template <class T>
std::size_t trainable(const Parameter<T>& p) {
  return p.variable.requires_grad() ? p.value().size() : 0;
}

// All modules with parameters, in the order in which a step uses them.
template <class T>
std::vector<ModuleSummary> modules_of(const Parameters<T>& parameters,
                                      const std::vector<Tracer::Call>& calls) {
  std::vector<ModuleSummary> tree{ModuleSummary{""}};
  for (const Tracer::Call& call : calls) insert(tree, call.module);
  for (const Parameter<T>& p : parameters) {
    insert(tree, module_of(p.name));
    for (ModuleSummary& m : tree) {
      if (holds(m.path, p.name)) m.parameters += trainable(p);
    }
  }
  return tree;
}

void assign(const std::vector<Tracer::Call>& calls, std::vector<ModuleSummary>& modules) {
  for (const Tracer::Call& call : calls) {
    for (ModuleSummary& m : modules) {
      if (!holds(m.path, call.module)) continue;
      m.flops += call.flops;
      m.output = call.output;
      const bool known = std::find(m.ops.begin(), m.ops.end(), call.op) != m.ops.end();
      if (m.path == call.module && !known) m.ops.push_back(call.op);
    }
  }
}

// (B, N, H d) -> (B, H, N, d); leaves a shape that is already split unchanged.
Shape split(const Shape& x, std::size_t heads) {
  return x.size() == 4 ? x : Shape{x[0], heads, x[1], x[2] / heads};
}

Shape transposed(const Shape& x) {
  return {x[0], x[1], x[3], x[2]};
}

// The summary for queries (B, H, N, d), keys (B, H, M, d) and values (B, H, M, d_v).
AttentionSummary attention_of(const std::string& path, const Shape& q, const Shape& k,
                              const Shape& v) {
  return {path, q, transposed(k), {q[0], q[1], q[2], k[2]}, v, {q[0], q[2], q[1] * v[3]}};
}

// An attention is either a single op, or an op for the scores and a product with the values.
// train.head_diversity computes the scores of a module again, which is not another attention.
std::vector<AttentionSummary> attentions_of(const std::vector<Tracer::Call>& calls,
                                            std::size_t heads) {
  std::vector<AttentionSummary> found;
  const Tracer::Call* scores = nullptr;  // scores whose values have not come yet
  for (const Tracer::Call& call : calls) {
    const std::vector<Shape>& in = call.inputs;
    const bool known = !found.empty() && found.back().path == call.module;
    const bool product = call.op == "matmul" && in[0].size() == 4;
    if (call.op == "self_attention") {
      const Shape one = split({in[0][0], in[0][1], in[0][2] / 3}, heads);
      found.push_back(attention_of(call.module, one, one, one));
    } else if (call.op == "attention") {
      found.push_back(
          attention_of(call.module, split(in[0], heads), split(in[1], heads), split(in[2], heads)));
    } else if (known || !(product || call.op == "additive_scores")) {
      continue;
    } else if (scores == nullptr) {
      scores = &call;
    } else {
      found.push_back(attention_of(call.module, split(scores->inputs[0], heads),
                                   split(scores->inputs[1], heads), in[1]));
      scores = nullptr;
    }
  }
  return found;
}

// Frees the gradients and returns their bytes. A step frees large gradients at its start, so
// without this it would seem to keep less memory than it does.
template <class T>
std::int64_t forget_gradients(const Parameters<T>& parameters) {
  const Counters counters;
  parameters.zero_grad();
  return -counters.live_bytes();
}

// The first row of a tensor whose first axis counts examples.
template <class A>
A first_row(const A& all) {
  return all.dimension() == 0 ? all : A(xt::view(all, xt::range(0, 1)));
}

std::shared_ptr<const Mask> first_row(const std::shared_ptr<const Mask>& all) {
  return all ? std::make_shared<const Mask>(first_row(*all)) : nullptr;
}

// Looks at one example, because observed attention stores its scores.
template <class T>
std::vector<std::pair<std::string, Shape>> activations_of(const Trainer<T>& trainer,
                                                          const Batch& batch) {
  Batch one;
  one.size = 1;
  one.ids = first_row(batch.ids);
  one.features = first_row(batch.features);
  one.targets = first_row(batch.targets);
  one.mask = first_row(batch.mask);
  one.adjacency = first_row(batch.adjacency);
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [name, value] :
       capture_activations(trainer.model(), trainer.parameters(), one)) {
    shapes.emplace_back(name, Shape(value.shape().begin(), value.shape().end()));
    shapes.back().second[0] = batch.size;
  }
  return shapes;
}

template <class T>
ModelSummary trace(Config config, const std::shared_ptr<const Task>& task) {
  // Each working thread allocates its own work space, at an unpredictable time.
  const SerialScope one_thread;
  // Does not change the weights, even where a larger rate would make them NaN.
  config.optim.lr = 1e-300;
  config.train.dead_gradients_every = 0;
  Trainer<T> trainer(config, /*checkpoint=*/nullptr, task);
  const Batch& batch = trainer.hold_batch().front();
  trainer.train_step();  // allocates gradients and work space of kernels, which stay
  ModelSummary summary;
  summary.input = batch.features.dimension() == 0 ? to_string(batch.ids.shape()) + " token ids"
                                                  : to_string(batch.features.shape()) + " numbers";
  summary.examples = batch.size;

  const std::int64_t freed = forget_gradients(trainer.parameters());
  const Counters counters;
  Tracer tracer(counters, addresses(trainer.parameters()));
  {
    const ScopedObserver observing(tracer);
    trainer.train_step();
  }
  summary.modules = modules_of(trainer.parameters(), tracer.calls());
  assign(tracer.calls(), summary.modules);
  summary.attentions = attentions_of(tracer.calls(), config.model.heads);
  summary.step_flops = counters.flops();
  summary.kept_bytes = tracer.kept();
  summary.peak_bytes = std::max(summary.kept_bytes, counters.peak_bytes() - freed);
  const std::size_t trained = summary.modules.front().parameters;
  summary.frozen = trainer.parameters().count() - trained;
  summary.weight_bytes = (trained + summary.frozen) * sizeof(T);
  summary.gradient_bytes = trained * sizeof(T);
  summary.optimizer_bytes = count(trainer.capture().optimizer) * sizeof(T);
  summary.activations = activations_of(trainer, batch);
  return summary;
}

std::string short_count(double number, const char* unit) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t at = 0;
  while (number >= 999.5 && at + 1 < std::size(prefixes)) {
    number /= 1000;
    ++at;
  }
  const int digits = at == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  const std::string suffix = std::string(prefixes[at]) + unit;
  return fmt::format("{:.{}f}{}{}", number, digits, suffix.empty() ? "" : " ", suffix);
}

std::string totals(const ModelSummary& s) {
  const auto number = [](double x) { return short_count(x, ""); };
  const auto bytes = [](std::size_t x) { return short_count(double(x), "B"); };
  const double forward = double(s.modules.front().flops), step = double(s.step_flops);
  return fmt::format(
      "parameters  {}{}\n"
      "FLOPs       forward {} ({} an example), a step {}; 2 m n k of each matrix product\n"
      "memory      weights {}, gradients {}, optimizer {}\n"
      "            activations {} kept for backward, {} at most in a step\n",
      grouped(s.modules.front().parameters),
      s.frozen > 0 ? fmt::format(", and {} frozen", grouped(s.frozen)) : "", number(forward),
      number(forward / double(std::max<std::size_t>(1, s.examples))), number(step),
      bytes(s.weight_bytes), bytes(s.gradient_bytes), bytes(s.optimizer_bytes),
      bytes(std::size_t(s.kept_bytes)), bytes(std::size_t(s.peak_bytes)));
}

// A table below an empty line; empty if there is no row but that of the heads.
std::string section(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Align>& align) {
  return rows.size() == 1 ? "" : "\n" + text_table(rows, align);
}

}  // namespace

ModelSummary summarize(const Config& config, const std::shared_ptr<const Task>& task) {
  return with_precision(config, [&]<class T>() { return trace<T>(config, task); });
}

std::string to_text(const ModelSummary& summary) {
  std::vector<std::vector<std::string>> rows{{"module", "output", "parameters", "FLOPs", "ops"}};
  for (const ModuleSummary& m : summary.modules) {
    const auto depth = m.path.empty() ? 0 : 1 + std::count(m.path.begin(), m.path.end(), '.');
    const std::string name = m.path.empty() ? "model" : m.path.substr(m.path.rfind('.') + 1);
    rows.push_back({std::string(2 * std::size_t(depth), ' ') + name,
                    m.flops == 0 && m.output.empty() ? "" : to_string(m.output),
                    grouped(m.parameters), grouped(m.flops), joined(m.ops)});
  }
  std::vector<std::vector<std::string>> attentions{
      {"attention", "queries", "keys, transposed", "scores", "values", "joined"}};
  for (const AttentionSummary& a : summary.attentions) {
    attentions.push_back({a.path, to_string(a.queries), to_string(a.keys), to_string(a.scores),
                          to_string(a.values), to_string(a.joined)});
  }
  std::vector<std::vector<std::string>> activations{{"activation", "shape"}};
  for (const auto& [name, shape] : summary.activations) {
    activations.push_back({name, to_string(shape)});
  }
  return "a batch of " + summary.input + "\n\n" +
         text_table(rows, {Align::left, Align::left, Align::right, Align::right, Align::left}) +
         section(attentions, {Align::left, Align::right}) + section(activations, {Align::left}) +
         "\n" + totals(summary);
}

}  // namespace xgrad
