#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/python/src/module.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/explain/explain.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/sweep/sweep.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

using Texts = std::vector<std::string>;

// Without a file, the overrides are the whole config.
Config config_of(const std::string& file, const Texts& overrides) {
  return file.empty() ? parse_config("", "config", overrides) : load_config(file, overrides);
}

// Calls a Python function after each step. The run saves and stops if the function returns True, or
// NumPy's True, or raises.
class OnStep final : public TrainerHooks {
 public:
  explicit OnStep(nb::object f) : f_(std::move(f)) {}

  void on_step(const StepReport& report) override {
    if (f_.is_none()) return;
    const nb::gil_scoped_acquire acquire;
    try {
      const nb::object result = f_(report);
      const auto type = nb::cast<std::string>(result.type().attr("__name__"));
      stop_ = (type == "bool" || type == "bool_") && bool(nb::bool_(result));
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      stop_ = true;
    }
  }
  bool stop() override { return stop_ || leaving(); }

  // Raises the exception that the function raised.
  void rethrow() {
    if (raised_) throw nb::python_error(std::move(*raised_));
  }

 private:
  nb::object f_;
  bool stop_ = false;
  std::optional<nb::python_error> raised_;
};

// Calls work() without the GIL. Signal handlers and the number of threads belong to the process, so
// only one run or sweep may train at a time.
template <class F>
auto alone(const F& work) {
  static std::mutex training;
  const std::unique_lock lock(training, std::try_to_lock);
  check<Error>(lock.owns_lock(),
               "another run is being trained in this process; xgrad.sweep() trains several");
  const Unlocked unlocked;
  return work();
}

// Returns (directory, signal or 0, whether the hook stopped the run, seconds, claims).
template <class F>
nb::tuple run(nb::object on_step, bool quiet, const F& work) {
  const auto hook = std::make_shared<OnStep>(std::move(on_step));
  const Outcome outcome =
      alone([&] { return work(SessionOptions{.quiet = quiet, .hooks = {hook}}); });
  hook->rethrow();
  nb::list claims;
  for (const Verdict& verdict : outcome.verdicts) {
    claims.append(nb::make_tuple(verdict.claim, verdict.found, verdict.holds));
  }
  return nb::make_tuple(outcome.directory, outcome.signal, hook->stop(), outcome.seconds, claims);
}

nb::tuple sweep(const std::string& file, const Texts& overrides, const Texts& over,
                const std::string& out, std::size_t jobs, const std::string& program, bool quiet) {
  const auto show = [quiet](const std::string& table) {
    if (quiet) return;
    const nb::gil_scoped_acquire acquire;
    nb::print(table.c_str(), nb::str(""));
  };
  const SweepEnd end = alone([&] {
    return run_sweep({.config = file,
                      .overrides = overrides,
                      .over = over,
                      .out = out,
                      .jobs = jobs,
                      .quiet = quiet,
                      .program = program,
                      .stop = leaving},
                     show);
  });
  return nb::make_tuple(end.exit_code, end.message);
}

}  // namespace

void add_runs(nb::module_& m) {
  m.def("_leave", &leave);
  m.def("_set_command", &set_isolating_program, "path"_a);
  nb::class_<StepReport>(m, "Step", "The result of a training step.")
      .def_ro("step", &StepReport::step, "The number of steps taken, this one included.")
      .def_ro("total", &StepReport::total, "The number of steps of the whole run.")
      .def_ro("loss", &StepReport::loss,
              "The loss of the step's batch before the update, as it is minimised, but without the "
              "penalty of train.head_diversity.")
      .def_ro("lr", &StepReport::lr, "The learning rate.")
      .def_ro("grad_norm", &StepReport::grad_norm, "The gradient norm before clipping.")
      .def_ro("tokens", &StepReport::tokens,
              "The number of tokens or vectors without padding, or of images.");
  m.def(
      "_train",
      [](const std::string& file, const std::string& name, const Texts& overrides, nb::object f,
         bool quiet) {
        return run(std::move(f), quiet, [&](const SessionOptions& options) {
          return start_run(config_of(file, overrides), name, options);
        });
      },
      "file"_a, "name"_a, "overrides"_a, "on_step"_a.none(), "quiet"_a);
  m.def(
      "_resume",
      [](const std::string& path, const Texts& overrides, const Texts& allow_change, nb::object f,
         bool quiet) {
        return run(std::move(f), quiet, [&](const SessionOptions& options) {
          return resume_run(path, overrides, allow_change, options);
        });
      },
      "path"_a, "overrides"_a, "allow_change"_a, "on_step"_a.none(), "quiet"_a);
  m.def("_sweep", sweep, "file"_a, "overrides"_a, "over"_a, "out"_a, "jobs"_a, "program"_a,
        "quiet"_a);
  m.def(
      "_report", [](const std::string& run) { return report_html({run}); }, "run"_a,
      nb::call_guard<Unlocked>());
  m.def(
      "_checkpoint", [](const std::string& run) { return find_run(run).file; }, "run"_a,
      nb::call_guard<Unlocked>());
  m.def(
      "_explain",
      [](const std::string& run, std::size_t every, bool last) {
        const Unlocked unlocked;
        return explain_html(run, every, last ? Take::last : Take::model).html;
      },
      "run"_a, "every"_a, "last"_a);
  m.def(
      "_gradcheck",
      [](const std::string& file, const Texts& overrides) {
        return to_json(certify(config_of(file, overrides)));
      },
      "file"_a, "overrides"_a, nb::call_guard<Unlocked>());
}

}  // namespace xgrad::python
