#include <xgrad/optim/spikes.hpp>

namespace xgrad {

bool SpikeGuard::is_spike(double norm) const {
  constexpr std::uint64_t kFewest = 20;
  return watches() && state_.count >= kFewest && norm > factor_ * state_.mean;
}

void SpikeGuard::observe(double norm) {
  constexpr double kDecay = 0.98;
  state_.mean = state_.count == 0 ? norm : kDecay * state_.mean + (1 - kDecay) * norm;
  ++state_.count;
}

}  // namespace xgrad
