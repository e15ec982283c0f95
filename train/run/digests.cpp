#include <xgrad/train/run/digests.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/diagnose/trace.hpp>

namespace xgrad {

namespace {

template <class T>
class DigestLog final : public TrainerHooks {
 public:
  DigestLog(const Parameters<T>& parameters, const RunDirectory& run)
      : parameters_(parameters), run_(run) {
    restart();
  }

  void on_step(const StepReport& report) override {
    trace_.reset();
    for (const Parameter<T>& p : parameters_) add("updated " + p.name, p.value());
    run_.folder().append(kDigests, fmt::format("{{\"step\": {}{}}}", report.step, digests_));
    restart();
  }
  void on_evaluation(std::uint64_t, const Metrics&) override { restart(); }
  void on_failed_step(const StepReport&, std::uint64_t) override { restart(); }

 private:
  void restart() {
    trace_.reset();
    digests_.clear();
    trace_.emplace(parameters_,
                   [&](const OpPlace& place, const Tensor<T>& x) { add(to_string(place), x); });
  }
  void add(const std::string& place, const Tensor<T>& x) {
    const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
    digests_ += fmt::format(", \"{}\": \"{}\"", place, to_hex(sha256(bytes)).substr(0, 16));
  }

  const Parameters<T>& parameters_;
  const RunDirectory& run_;
  std::string digests_;  // of the current step: the row without its beginning
  std::optional<Trace<T>> trace_;
};

}  // namespace

template <class T>
std::shared_ptr<TrainerHooks> make_digest_log(const Parameters<T>& parameters,
                                              const RunDirectory& run) {
  return std::make_shared<DigestLog<T>>(parameters, run);
}

std::string first_different_digest(const std::string& first, const std::string& second) {
  const Folder a(first), b(second);
  if (!a.holds(kDigests) || !b.holds(kDigests)) return "";
  Lines of_a(a.input(kDigests)), of_b(b.input(kDigests));
  for (std::string x, y; of_a.next(x) && of_b.next(y);) {
    if (x == y) continue;
    // `{"step": 12`, then for each tensor `"place": "digest"`.
    const auto same = std::size_t(std::ranges::mismatch(x, y).in1 - x.begin());
    const std::size_t begin = x.rfind(", \"", same) + 3, end = x.find("\": ", begin);
    return fmt::format("step {}: {}", x.substr(9, x.find(',') - 9), x.substr(begin, end - begin));
  }
  return "";
}

#define XGRAD_INSTANTIATE(T) \
  template std::shared_ptr<TrainerHooks> make_digest_log(const Parameters<T>&, const RunDirectory&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
