#include <xgrad/train/inspect/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <xtensor/xview.hpp>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>
#include <xgrad/train/model/parts.hpp>
#include <xgrad/train/ranks/gradient_shards.hpp>
#include <xgrad/train/weights/init_from.hpp>

namespace xgrad {

namespace {

std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

bool holds(const std::string& module, const std::string& path) {
  return module.empty() || path == module || path.starts_with(module + ".");
}

// Assigns the ops of a step to the modules of a model.
struct Tracer final : OpObserver {
  template <class T>
  Tracer(const Counters& counters, const Parameters<T>& parameters) : counters_(counters) {
    for (const Parameter<T>& p : parameters) {
      modules_[p.variable.shared_value().get()] = module_of(p.name);
    }
  }

  void begin(const char* name) override {
    const std::string_view what = name;
    if (what == "model") in_model_ = calls.empty();  // only the first shard
    if (what == "loss") in_model_ = false;
    if (what == "backward" && kept == 0) kept = counters_.live_bytes();
    flops_before_ = counters_.flops();
  }

  void end(const OpCall& call) override {
    if (call.kind != OpCall::Kind::forward || !in_model_) return;
    for (const Operand& x : call.inputs) {
      if (modules_.contains(x.value)) module_ = modules_[x.value];
    }
    calls.push_back({module_, call.name, call.result.shape, counters_.flops() - flops_before_});
  }

  struct Call {
    std::string module, op;
    Shape output;
    std::uint64_t flops;
  };
  std::vector<Call> calls;
  std::int64_t kept = 0;

 private:
  const Counters& counters_;
  std::map<const void*, std::string> modules_;  // by the addresses of their parameters
  std::string module_;
  bool in_model_ = false;
  std::uint64_t flops_before_ = 0;
};

// Inserts a module after its parent and siblings, whatever the order of the calls.
void insert(std::vector<ModuleSummary>& tree, const std::string& path) {
  if (std::ranges::find(tree, path, &ModuleSummary::path) != tree.end()) return;
  const std::string parent = path.find('.') == path.npos ? "" : module_of(path);
  insert(tree, parent);
  auto at = tree.end();
  while (!holds(parent, (at - 1)->path)) --at;
  tree.insert(at, ModuleSummary{path});
}

// All modules with parameters, in the order in which a step uses them.
template <class T>
std::vector<ModuleSummary> modules_of(const Parameters<T>& parameters,
                                      const std::vector<Tracer::Call>& calls) {
  std::vector<ModuleSummary> tree{ModuleSummary{""}};
  for (const Tracer::Call& call : calls) insert(tree, call.module);
  for (const Parameter<T>& p : parameters) insert(tree, module_of(p.name));
  for (ModuleSummary& m : tree) {
    for (const Parameter<T>& p : parameters) {
      if (holds(m.path, p.name) && p.variable.requires_grad()) m.parameters += p.value().size();
    }
    for (const Tracer::Call& call : calls) {
      if (!holds(m.path, call.module)) continue;
      m.flops += call.flops;
      m.output = call.output;
      const bool known = std::ranges::find(m.ops, call.op) != m.ops.end();
      if (m.path == call.module && !known) m.ops.push_back(call.op);
    }
  }
  return tree;
}

// The first row of a tensor whose first axis counts examples.
template <class A>
A first_row(const A& all) {
  return all.dimension() == 0 ? all : A(xt::view(all, xt::range(0, 1)));
}

SharedMask first_row(const SharedMask& all) {
  return all ? std::make_shared<const Mask>(first_row(*all)) : nullptr;
}

// Names and shapes of the activations of a batch. Looks at one example, because observed attention
// stores its scores.
template <class T>
std::vector<std::pair<std::string, Shape>> activations_of(const SequenceModel<T>& model,
                                                          const Parameters<T>& parameters,
                                                          const Batch& batch) {
  Batch one;
  one.size = 1;
  one.ids = first_row(batch.ids);
  one.features = first_row(batch.features);
  one.targets = first_row(batch.targets);
  one.mask = first_row(batch.mask);
  one.adjacency = first_row(batch.adjacency);
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [name, value] : capture_activations(model, parameters, one)) {
    shapes.emplace_back(name, Shape(value.shape().begin(), value.shape().end()));
    shapes.back().second[0] = batch.size;
  }
  return shapes;
}

// The attentions among the activations. ActivationTaker lists their names.
std::vector<AttentionSummary> attentions_of(
    const std::vector<std::pair<std::string, Shape>>& activations) {
  const std::map<std::string, Shape> shapes(activations.begin(), activations.end());
  std::vector<AttentionSummary> found;
  for (const auto& [name, scores] : activations) {
    if (!name.ends_with(".weights")) continue;
    const std::string path = module_of(name);
    const std::size_t b = scores[0], h = scores[1], n = scores[2], m = scores[3],
                      d = shapes.at(path + ".queries")[2] / h,
                      d_v = shapes.at(path + ".values")[2] / h;
    const Shape queries{b, h, n, d}, keys{b, h, d, m}, values{b, h, m, d_v};
    found.push_back({path, queries, keys, scores, values, shapes.at(path + ".head_outputs")});
  }
  return found;
}

// The micro-batches of the first step.
std::vector<Batch> first_batches(const TrainConfig& train, const Dataset& data,
                                 const TaskShape& shape) {
  Loader loader(data, shape,
                {.batch = train.batch,
                 .seed = train.seed,
                 .shuffle = true,
                 .bucket = train.bucket,
                 .curriculum = {train.curriculum_start, train.curriculum_steps * train.accumulate,
                                train.accumulate}});
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < train.accumulate; ++i) batches.push_back(loader.next());
  return batches;
}

// Number of scalars in the state of the optimizer and in the averaged weights.
template <class T>
std::size_t state_numbers(const Config& config, const Parameters<T>& parameters) {
  const auto optimizer = make_optimizer<T>(config.optim, parameters);
  std::size_t numbers = 0;
  for (const OptimizerState<T>& s : optimizer->state()) numbers += s.tensor.size();
  if (config.train.ema == 0 && config.train.swa_start == 0) return numbers;
  const AveragedWeights<T> average(parameters, "");
  for (const OptimizerState<T>& s : average.state()) numbers += s.tensor.size();
  return numbers;
}

// Runs forward and backward of a step twice, because the first run also allocates work space.
template <class T>
ModelSummary measure(const Config& config) {
  // Each working thread allocates its own work space, at an unpredictable time.
  const SerialScope one_thread;
  const TrainConfig& train = config.train;
  const std::unique_ptr<Task> task = make_task(config);
  const TaskShape& shape = task->shape();
  const std::unique_ptr<Dataset> data = task->dataset(Split::train);
  const Objective objective = training_objective(train, shape, data.get());
  Parameters<T> parameters(train.seed);
  const auto model = make_model<T>(config, shape, parameters);
  if (!config.model.init_from.empty()) initialize(config, shape, parameters);
  const std::vector<Batch> batches = first_batches(train, *data, shape);
  GradientShards<T> shards(parameters, train.shards, alone());
  Context context = training_context(train, /*step=*/1, planned_steps(train, data->size()));
  context.recompute = train.recompute;
  const auto step = [&] {
    for (std::size_t i = 0; i < shards.count(); ++i) {
      forward_backward<T>(*model, objective, batches, context, {}, {i, shards.count()},
                          shape.output);
      shards.take();
    }
    shards.add_up();
  };
  step();

  ModelSummary summary;
  std::int64_t freed = 0;  // memory freed at the start; else the step would seem to keep less
  {
    const Counters gradients;
    parameters.zero_grad();
    freed = -gradients.live_bytes();
  }
  const Counters counters;
  Tracer tracer(counters, parameters);
  {
    const ScopedObserver observing(tracer);
    step();
  }
  summary.modules = modules_of(parameters, tracer.calls);
  summary.step_flops = counters.flops();
  summary.kept_bytes = tracer.kept;
  summary.peak_bytes = std::max(summary.kept_bytes, counters.peak_bytes() - freed);
  const Batch batch = cut(batches.front(), {0, shards.count()}, shape.output);
  summary.input = batch.features.dimension() == 0 ? to_string(batch.ids.shape()) + " token ids"
                                                  : to_string(batch.features.shape()) + " numbers";
  summary.examples = batch.size;
  const std::size_t trained = summary.modules.front().parameters;
  summary.frozen = parameters.count() - trained;
  summary.weight_bytes = parameters.count() * sizeof(T);
  summary.gradient_bytes = trained * sizeof(T);
  summary.optimizer_bytes = state_numbers(config, parameters) * sizeof(T);
  summary.activations = activations_of(*model, parameters, batch);
  summary.attentions = attentions_of(summary.activations);
  return summary;
}

std::string short_count(double number, const char* unit) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t at = 0;
  for (; number >= 999.5 && at + 1 < std::size(prefixes); ++at) number /= 1000;
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

}  // namespace

ModelSummary summarize(const Config& config) {
  return with_precision(config, [&]<class T>() { return measure<T>(config); });
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
  std::string text =
      "one forward pass over " + summary.input + "\n\n" +
      text_table(rows, {Align::left, Align::left, Align::right, Align::right, Align::left});
  rows = {{"attention", "queries", "keys, transposed", "scores", "values", "joined"}};
  for (const AttentionSummary& a : summary.attentions) {
    rows.push_back({a.path, to_string(a.queries), to_string(a.keys), to_string(a.scores),
                    to_string(a.values), to_string(a.joined)});
  }
  if (rows.size() > 1) text += "\n" + text_table(rows);
  rows = {{"activation", "shape"}};
  for (const auto& [name, shape] : summary.activations) rows.push_back({name, to_string(shape)});
  if (rows.size() > 1) text += "\n" + text_table(rows, {Align::left});
  return text + "\n" + totals(summary);
}

}  // namespace xgrad
