#include <xgrad/optim/plateau.hpp>

#include <algorithm>

namespace xgrad {

void Plateau::observe(double loss) {
  constexpr double kThreshold = 1e-4;
  if (loss < state_.best * (1 - kThreshold)) {
    state_.best = loss;
    state_.bad = 0;
  } else if (++state_.bad > patience_) {
    state_.factor = std::max(state_.factor * gamma_, final_);
    state_.bad = 0;
  }
}

}  // namespace xgrad
