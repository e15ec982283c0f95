#include <xgrad/train/inspect/trial_runs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMemory = 0.9;          // decay of the moving average that smooths losses
constexpr double kDiverged = 4;          // a loss above this multiple of the lowest has diverged
constexpr std::size_t kLeastTried = 10;  // a curve needs more learning rates than this

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::size_t kWarmUp = 3;
const std::string kOther = "other", kBetween = "between ops: ";

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::uint64_t bytes_of(const OpCall& call) {
  std::size_t elements = size_of(call.result.shape);
  for (const Operand& x : call.inputs) {
    // An optional input that is not given has no bytes; backward moves an input and its gradient.
    const bool backward = call.kind == OpCall::Kind::backward;
    if (backward ? x.gradient : x.value != nullptr)
      elements += (backward ? 2 : 1) * size_of(x.shape);
  }
  return call.kind == OpCall::Kind::region ? 0 : elements * call.scalar;
}

// Adds up calls by name, excluding time and products of nested calls. The clock is stopped while
// this class itself works.
class Profiler final : public OpObserver {
 public:
  explicit Profiler(const Counters& counters) : counters_(counters) {}

  void begin(const char*) override { open_.push_back({now(), 0, counters_.flops(), 0}); }

  void done() override { done_ = now(); }

  void end(const OpCall& call) override {
    add_up(call);
    stood_still_ += now() - done_;
  }

  std::vector<ProfileRow> rows;
  Json events = Json::array();
  bool tracing = false;

 private:
  struct Open {
    Clock::time_point start;
    double inside;
    std::uint64_t flops, flops_inside;
  };

  Clock::time_point now() const { return Clock::now() - stood_still_; }

  void add_up(const OpCall& call) {
    const Open done = open_.back();
    open_.pop_back();
    const double seconds = seconds_between(done.start, done_);
    const std::uint64_t flops = counters_.flops() - done.flops;
    if (!open_.empty()) {
      open_.back().inside += seconds;
      open_.back().flops_inside += flops;
    }
    ProfileRow& row = row_of(call);
    ++row.calls;
    row.seconds += seconds - done.inside;
    row.flops += flops - done.flops_inside;
    row.bytes += bytes_of(call);
    if (tracing) add_event(call, done.start, seconds);
  }

  ProfileRow& row_of(const OpCall& call) {
    std::string name = call.name;
    const bool region = call.kind == OpCall::Kind::region;
    if (call.kind == OpCall::Kind::backward) name += " backward";
    if (region && name == "step") name = kOther;
    if (region && (name == "model" || name == "loss" || name == "backward")) name = kBetween + name;
    const auto found = std::ranges::find(rows, name, &ProfileRow::name);
    return found != rows.end() ? *found : rows.emplace_back(ProfileRow{name});
  }

  void add_event(const OpCall& call, Clock::time_point start, double seconds) {
    if (events.empty()) epoch_ = start;
    std::vector<std::string> shapes;
    for (const Operand& x : call.inputs) {
      if (call.kind != OpCall::Kind::backward || x.gradient) shapes.push_back(to_string(x.shape));
    }
    const char* const kinds[] = {"forward", "backward", "region"};
    const auto microseconds = [](double s) { return std::round(1e9 * s) / 1e3; };
    events.push_back(
        {{"name", call.name},
         {"cat", kinds[int(call.kind)]},
         {"ph", "X"},
         {"pid", 1},
         {"tid", 1},
         {"ts", microseconds(seconds_between(epoch_, start))},
         {"dur", microseconds(seconds)},
         {"args", {{"inputs", joined(shapes)}, {"result", to_string(call.result.shape)}}}});
  }

  const Counters& counters_;
  std::vector<Open> open_;
  Clock::time_point epoch_, done_;
  Clock::duration stood_still_{};
};

// The shortest of 20 repetitions, in seconds.
template <class F>
double best_time(const F& f) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {  // so that other processes do not slow them all
    const Clock::time_point start = Clock::now();
    f();
    best = std::min(best, seconds_between(start, Clock::now()));
  }
  return best;
}

template <class T>
double gemm_rate() {
  constexpr std::size_t n = 768;
  const Tensor<T> a = full<T>({n, n}, T(1)), b = full<T>({n, n}, T(1));
  Tensor<T> c = empty<T>({n, n});
  return 2.0 * n * n * n / best_time([&] {
           parallel_gemm<T>(n, n, n, T(1), {a.data(), n}, {b.data(), n}, T(0), c.data(), n);
         });
}

double copy_rate() {
  constexpr std::size_t bytes = std::size_t(1) << 26;
  const Tensor<std::uint8_t> from = full<std::uint8_t>({bytes}, 1);
  Tensor<std::uint8_t> to = full<std::uint8_t>({bytes}, 0);
  return 2.0 * double(bytes) / best_time([&] {
           parallel_for(bytes, bytes / 16, [&](std::size_t begin, std::size_t end) {
             std::memcpy(to.data() + begin, from.data() + begin, end - begin);
           });
         });
}

template <class T>
Profile measure(const Config& config, std::size_t steps) {
  Trainer<T> trainer(config);
  for (std::size_t i = 0; i < kWarmUp; ++i) trainer.train_step();
  Profile result{.steps = steps, .gemm_rate = gemm_rate<T>(), .copy_rate = copy_rate()};
  const Counters counters;
  Profiler profiler(counters);
  const ScopedObserver observing(profiler);
  std::vector<double> explained;
  double before = 0;  // time of "other" and "between ops" so far
  for (std::size_t i = 0; i < steps; ++i) {
    profiler.tracing = i + 1 == steps;
    {
      const Region region("step");
      trainer.train_step();
    }
    double all = 0, unnamed = 0;
    for (const ProfileRow& row : profiler.rows) {
      all += row.seconds;
      if (row.name == kOther || row.name.starts_with(kBetween)) unnamed += row.seconds;
    }
    explained.push_back(1 - (unnamed - before) / (all - result.seconds));
    result.seconds = all;
    before = unnamed;
  }
  const auto middle = explained.begin() + std::ptrdiff_t(steps / 2);
  std::ranges::nth_element(explained, middle);
  result.explained = *middle;
  result.rows = std::move(profiler.rows);
  // The gradient norm and the optimizer both read the gradients, and only the optimizer reads and
  // writes values and state.
  std::size_t updated = 2 * trainer.state_numbers();
  for (const auto& p : trainer.parameters()) {
    if (p.variable.requires_grad()) updated += 4 * p.value().size();
  }
  for (ProfileRow& row : result.rows) {
    if (row.name == "update") row.bytes = steps * updated * sizeof(T);
  }
  std::ranges::sort(result.rows, std::greater(), &ProfileRow::seconds);
  result.trace = Json{{"displayTimeUnit", "ms"}, {"traceEvents", profiler.events}}.dump() + "\n";
  return result;
}

}  // namespace

Overfit overfit_batch(Config config, const std::function<void(const StepReport&)>& watch) {
  constexpr double kMemorised = 1e-3;        // a batch counts as memorised below this loss
  constexpr std::uint64_t kPatience = 2000;  // steps in which the loss must fall by a tenth
  config.model.dropout = config.model.attention_dropout = config.model.stochastic_depth = 0;
  config.train.label_smoothing = config.optim.weight_decay = 0;
  for (ParameterGroup& group : config.optim.groups) group.weight_decay.reset();
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    Overfit result;
    for (const Batch& batch : trainer.hold_batch()) result.examples += batch.size;
    double mark = kInfinity;
    std::uint64_t since = 0;
    do {
      result.last = trainer.train_step(config.optim.lr);
      watch(result.last);
      result.memorised = result.last.loss < kMemorised;
      if (result.last.loss < 0.9 * mark) {
        mark = result.last.loss;
        since = result.last.step;
      }
    } while (!result.memorised && result.last.step < since + kPatience);
    return result;
  });
}

std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps) {
  config.train.spike = 0;                 // large gradients are expected here
  config.train.dead_gradients_every = 0;  // and so are dead units
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    std::vector<TriedRate> tried;
    double mean = 0, lowest = kInfinity;
    for (std::size_t i = 0; i < steps; ++i) {
      const double lr = from * portable::pow(to / from, double(i) / double(steps - 1));
      double loss = 0;
      try {
        loss = trainer.train_step(lr).loss;
      } catch (const NumericError&) {
        check<NumericError>(tried.size() > kLeastTried, "lr-find: the loss is not finite after ",
                            tried.size(), " steps; start lower with --from");
        break;
      }
      mean = kMemory * mean + (1 - kMemory) * loss;
      const double smooth = mean / (1 - portable::pow(kMemory, double(i + 1)));
      tried.push_back({lr, smooth});
      lowest = std::min(lowest, smooth);
      if (smooth > kDiverged * lowest) break;
    }
    check<Error>(tried.size() > kLeastTried, "lr-find: the loss diverged after ", tried.size(),
                 " steps; start lower with --from");
    return tried;
  });
}

double steepest(const std::vector<TriedRate>& tried) {
  const std::size_t span = std::max<std::size_t>(1, tried.size() / 10);
  double most = 0, lr = tried.front().lr;
  for (std::size_t i = span; i + span < tried.size(); ++i) {
    const double fall = tried[i - span].loss - tried[i + span].loss;
    if (fall > most) lr = tried[i].lr;
    most = std::max(most, fall);
  }
  return lr;
}

std::string to_text(const std::vector<TriedRate>& tried) {
  constexpr std::size_t rows = 14, columns = 64;
  const auto [least, most] = std::ranges::minmax(tried, {}, &TriedRate::loss);
  const double low = least.loss, top = std::min(most.loss, 2 * tried.front().loss);
  std::vector<std::string> lines(rows, std::string(columns, ' '));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const double up = top > low ? std::clamp((tried[i].loss - low) / (top - low), 0.0, 1.0) : 0.5;
    const auto row = std::size_t(std::lround((1 - up) * double(rows - 1)));
    lines[row][tried.size() > 1 ? i * (columns - 1) / (tried.size() - 1) : 0] = '*';
  }
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const bool labelled = row == 0 || row + 1 == rows;
    const std::string label = labelled ? fmt::format("{:.4f}", row == 0 ? top : low) : "";
    text += fmt::format("{:>9} |{}", label, lines[row]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + fmt::format("{:>9} +{}\n{:>11}{:<{}}{:>10.2e}\n", "loss", std::string(columns, '-'),
                            "", fmt::format("{:.2e}", tried.front().lr), columns - 10,
                            tried.back().lr);
}

Profile profile(const Config& config, std::size_t steps) {
  return with_precision(config, [&]<class T>() { return measure<T>(config, steps); });
}

std::string to_text(const Profile& p) {
  std::vector<std::vector<std::string>> rows = {
      {"op", "calls", "ms", "%", "GFLOP/s", "% of gemm", "GB/s", "% of copy"}};
  const double n = double(p.steps);
  for (const ProfileRow& row : p.rows) {
    rows.push_back({row.name, fmt::format("{:g}", double(row.calls) / n),
                    fmt::format("{:.3f}", 1e3 * row.seconds / n),
                    fmt::format("{:.1f}", 100 * row.seconds / p.seconds)});
    const auto add_rate = [&](std::uint64_t amount, double best) {
      const double rate = double(amount) / row.seconds;
      rows.back().push_back(amount == 0 ? "" : fmt::format("{:.1f}", rate / 1e9));
      rows.back().push_back(amount == 0 ? "" : fmt::format("{:.0f}", 100 * rate / best));
    };
    add_rate(row.flops, p.gemm_rate);
    add_rate(row.bytes, p.copy_rate);
  }
  return text_table(rows) +
         fmt::format(
             "\na step: {:.3f} ms, {:.1f} % of it in ops, loader and update "
             "(mean and median of {} steps, {} thread{})\n"
             "this machine: {:.1f} GFLOP/s in a large matrix product, {:.1f} GB/s in a large "
             "copy\n",
             1e3 * p.seconds / n, 100 * p.explained, p.steps, threads(), threads() == 1 ? "" : "s",
             p.gemm_rate / 1e9, p.copy_rate / 1e9);
}

}  // namespace xgrad
