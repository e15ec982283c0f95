#include <xgrad/optim/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

Schedule::Schedule(Shape shape, double lr, std::uint64_t steps, std::uint64_t warmup, double final)
    : shape_(shape), lr_(lr), final_(final), steps_(steps), warmup_(warmup) {
  check<ConfigError>(warmup <= steps, "schedule: warmup of ", warmup, " steps in a run of ", steps);
}

double Schedule::operator()(std::uint64_t step) const {
  if (step < warmup_) return lr_ * (double(step + 1) / double(warmup_ + 1));
  if (shape_ == Shape::constant) return lr_;
  if (step >= steps_) return lr_ * final_;
  const double p = double(step - warmup_) / double(steps_ - warmup_);
  if (shape_ == Shape::linear) return lr_ * (1 - (1 - final_) * p);
  return lr_ * (final_ + (1 - final_) * (1 + std::cos(std::numbers::pi * p)) / 2);
}

Schedule::Shape Schedule::shape(const std::string& name) {
  if (name == "constant") return Shape::constant;
  if (name == "linear") return Shape::linear;
  if (name == "cosine") return Shape::cosine;
  detail::fail<ConfigError>("there is no schedule '", name,
                            "'; there are constant, cosine, linear");
}

}  // namespace xgrad
