#include <xgrad/optim/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

struct Entry {
  const char* name;
  Schedule::Shape shape;
  std::vector<std::string> keys;
};

const std::vector<Entry>& table() {
  using Shape = Schedule::Shape;
  static const std::vector<Entry> entries = {
      {"constant", Shape::constant, {}},
      {"linear", Shape::linear, {"final"}},
      {"cosine", Shape::cosine, {"final"}},
      {"polynomial", Shape::polynomial, {"final", "power"}},
      {"step", Shape::step, {"every", "gamma"}},
      {"noam", Shape::noam, {}},
      {"wsd", Shape::wsd, {"final", "decay"}},
      {"one_cycle", Shape::one_cycle, {"final", "div"}},
      {"plateau", Shape::plateau, {"final", "gamma", "patience"}},
  };
  return entries;
}

const Entry& find(const std::string& name) {
  std::string known;
  for (const Entry& entry : table()) {
    if (entry.name == name) return entry;
    known += std::string(known.empty() ? "" : ", ") + entry.name;
  }
  detail::fail<ConfigError>("there is no schedule '", name, "'; there are ", known);
}

// Falls from 1 at p = 0 to 0 at p = 1.
double half_cosine(double p) {
  return (1 + portable::cos(std::numbers::pi * p)) / 2;
}

}  // namespace

Schedule::Schedule(Shape shape, double lr, std::uint64_t steps, std::uint64_t warmup,
                   const ScheduleOptions& options)
    : shape_(shape), lr_(lr), options_(options), steps_(steps), warmup_(warmup) {
  check<ConfigError>(warmup <= steps, "schedule: warmup: is ", warmup, ", must be at most ", steps,
                     ", the steps of the run");
  check<ConfigError>(shape != Shape::step || options.every > 0,
                     "schedule: step needs every, the number of steps between drops");
}

Schedule::Schedule(std::function<double(std::uint64_t)> rate) : rate_(std::move(rate)) {}

double Schedule::operator()(std::uint64_t step) const {
  if (rate_) return rate_(step);
  if (shape_ == Shape::one_cycle) return one_cycle(step);
  if (step < warmup_) return lr_ * (double(step + 1) / double(warmup_ + 1));
  const auto& [final, power, every, gamma, decay, div] = options_;
  const double n = double(step - warmup_);
  if (shape_ == Shape::constant || shape_ == Shape::plateau) return lr_;
  if (shape_ == Shape::step) return lr_ * portable::pow(gamma, std::floor(n / double(every)));
  if (shape_ == Shape::noam) return lr_ * std::sqrt(double(warmup_ + 1) / double(step + 1));
  if (step >= steps_) return lr_ * final;
  const double p = n / double(steps_ - warmup_);
  if (shape_ == Shape::linear) return lr_ * (1 - (1 - final) * p);
  if (shape_ == Shape::polynomial) return lr_ * (final + (1 - final) * portable::pow(1 - p, power));
  if (shape_ == Shape::wsd) {
    return lr_ * (1 - (1 - final) * std::max(0.0, (p - (1 - decay)) / decay));
  }
  return lr_ * (final + (1 - final) * half_cosine(p));
}

double Schedule::one_cycle(std::uint64_t step) const {
  if (step < warmup_) {
    const double start = 1 / options_.div;
    return lr_ * (1 + (start - 1) * half_cosine(double(step) / double(warmup_)));
  }
  if (step + 1 >= steps_) return lr_ * options_.final;
  const double p = double(step - warmup_) / double(steps_ - 1 - warmup_);
  return lr_ * (options_.final + (1 - options_.final) * half_cosine(p));
}

Schedule::Shape Schedule::shape(const std::string& name) {
  return find(name).shape;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.push_back(entry.name);
  return names;
}

const std::vector<std::string>& schedule_keys(const std::string& name) {
  return find(name).keys;
}

}  // namespace xgrad
