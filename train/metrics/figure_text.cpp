#include <xgrad/train/metrics/figure_text.hpp>

#include <fmt/format.h>

#include <cmath>

namespace xgrad {

std::string figure_text(double value, double standard_error) {
  return fmt::format("{:.4f}", value) +
         (std::isfinite(standard_error) ? fmt::format(" ± {:.4f}", standard_error) : "");
}

}  // namespace xgrad
