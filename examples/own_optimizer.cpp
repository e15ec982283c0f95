// An optimizer and a schedule of your own, which configs name like the built-in ones:
//
//     own_optimizer train own_optimizer.toml
#include <cmath>

#include <xgrad/cli/command_line.hpp>
#include <xgrad/train/model/parts.hpp>

using namespace xgrad;

namespace {

// Signum (Bernstein et al. 2018): steps by the sign of a mean of gradients.
template <class T>
class Signum final : public Optimizer<T> {
 public:
  Signum(const Parameters<T>& parameters, const OptimizerOptions& options, const Options& own)
      : Optimizer<T>(parameters, options, {"exp_avg"}), beta_(T(get_double(own, "beta"))) {}

 private:
  void prepare(double lr, std::uint64_t) override { lr_ = lr; }
  void update(const ParameterRun<T>& run) const override {
    T* mean = run.slots[0];
    const T lr = T(lr_ * run.lr_scale);
    for (std::size_t i = 0; i < run.size; ++i) {
      mean[i] = beta_ * mean[i] + (1 - beta_) * run.grad[i];
      run.value[i] -= std::copysign(lr, mean[i]);
    }
  }

  T beta_;
  double lr_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  add_optimizer<Signum>({"signum",
                         "steps by the sign of a mean of gradients.",
                         {{"beta", 0.9, "Decay of the mean.", 0, 0.999}}});
  add_schedule({"halving",
                "halves the rate in equal intervals.",
                {{"intervals", 4, "Number of intervals.", 1, 100}}},
               [](const Config& config, std::uint64_t steps, const Options& own) {
                 const double interval = double(steps) / double(get_int(own, "intervals"));
                 return [=, lr = config.optim.lr](std::uint64_t step) {
                   return lr * std::exp2(-std::floor(double(step) / interval));
                 };
               });
  return command_line(argc, argv);
}
