// Prints a figure with its standard error.
#pragma once

#include <string>

namespace xgrad {

/// The value and its standard error, as "0.9934 ± 0.0002"; the value alone if the standard error is
/// not finite, because there is none or the value is infinite.
std::string figure_text(double value, double standard_error);

}  // namespace xgrad
