#include <xgrad/python/src/runs.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <csignal>
#include <mutex>
#include <string>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/certificate.hpp>
#include <xgrad/train/run/resume.hpp>
#include <xgrad/train/run/session.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

using Texts = std::vector<std::string>;

// Without a file, the overrides are the whole config.
Config config_of(const std::string& file, const Texts& overrides) {
  return file.empty() ? parse_config("", "config", overrides) : load_config(file, overrides);
}

// Trains while the interpreter is free. The handlers of signals and the number of threads are the
// process's, so only one run trains at a time.
template <class F>
Outcome alone(const F& work) {
  static std::mutex training;
  const std::unique_lock lock(training, std::try_to_lock);
  check<Error>(lock.owns_lock(),
               "another run is being trained in this process; xgrad.sweep() trains several");
  const nb::gil_scoped_release release;
  return work();
}

nb::dict as_dict(const Outcome& outcome) {
  nb::list claims;
  for (const Verdict& verdict : outcome.verdicts) {
    nb::dict claim;
    claim["claim"] = verdict.claim;
    claim["found"] = verdict.found;
    claim["holds"] = verdict.holds;
    claims.append(claim);
  }
  nb::object stopped = nb::none();
  if (outcome.signal == SIGALRM) {
    stopped = nb::str("train.max_seconds");
  } else if (outcome.signal != 0) {
    stopped = nb::str(("SIG" + std::string(sigabbrev_np(outcome.signal))).c_str());
  }
  nb::dict result;
  result["directory"] = outcome.directory;
  result["stopped"] = stopped;
  result["seconds"] = outcome.seconds;
  result["claims"] = claims;
  result["report_failure"] = outcome.report_failure;
  return result;
}

}  // namespace

void add_runs(nb::module_& m) {
  m.def("_set_command", &set_isolating_program, "path"_a);
  m.def(
      "_train",
      [](const std::string& file, const std::string& name, const Texts& overrides, bool quiet) {
        return as_dict(
            alone([&] { return start_run(config_of(file, overrides), name, {.quiet = quiet}); }));
      },
      "file"_a, "name"_a, "overrides"_a, "quiet"_a);
  m.def(
      "_resume",
      [](const std::string& path, const Texts& overrides, const Texts& allow_change, bool quiet) {
        return as_dict(
            alone([&] { return resume_run(path, overrides, allow_change, {.quiet = quiet}); }));
      },
      "path"_a, "overrides"_a, "allow_change"_a, "quiet"_a);
  m.def(
      "_gradcheck",
      [](const std::string& file, const Texts& overrides) {
        const nb::gil_scoped_release release;
        return to_json(certify(config_of(file, overrides)));
      },
      "file"_a, "overrides"_a);
}

}  // namespace xgrad::python
