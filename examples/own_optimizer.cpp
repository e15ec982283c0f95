// Your own optimizer and schedule. Configs name them like the built-in ones:
//
//     own_optimizer train own_optimizer.toml
#include <cmath>

#include <xgrad/cli/command_line.hpp>
#include <xgrad/train/model/parts.hpp>

using namespace xgrad;

namespace {

// Signum (Bernstein et al. 2018): subtracts lr times the sign of a mean of gradients.
template <class T>
class Signum final : public Optimizer<T> {
 public:
  Signum(const Parameters<T>& parameters, const OptimizerOptions& options, const Options& own)
      : Optimizer<T>(parameters, options, {"exp_avg"}), beta_(T(get_double(own, "beta"))) {}

 private:
  void update(const ParameterSpan<T>& span) const override {
    T* mean = span.slots[0];
    const T lr = T(span.lr * span.lr_scale);
    for (std::size_t i = 0; i < span.size; ++i) {
      mean[i] = beta_ * mean[i] + (1 - beta_) * span.grad[i];
      span.value[i] -= std::copysign(lr, mean[i]);
    }
  }

  T beta_;
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
