#include <xgrad/train/inspect/spectrum.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/text/columns.hpp>

namespace xgrad {

std::vector<FrequencyShare> spectrum(const Tensor<double>& x) {
  check_shape(x.dimension() == 2 && x.shape()[0] >= 2,
              "spectrum: expected a matrix of at least two rows, got ", to_string(x.shape()));
  const std::size_t rows = x.shape()[0], width = x.shape()[1];
  const Tensor<double> centred = x - xt::mean(x, {0});
  const double squares = xt::sum(centred * centred)();
  check<DataError>(squares > 0, "spectrum: all rows are equal");
  Tensor<double> waves = empty<double>({2, rows}), sums = empty<double>({2, width});
  std::vector<FrequencyShare> result(rows / 2);
  for (std::size_t k = 1; k <= rows / 2; ++k) {
    for (std::size_t j = 0; j < rows; ++j) {
      const double angle = 2 * std::numbers::pi * double(j * k % rows) / double(rows);
      waves(0, j) = std::cos(angle);
      waves(1, j) = std::sin(angle);
    }
    parallel_gemm<double>(2, width, rows, 1, {waves.data(), rows}, {centred.data(), width}, 0,
                          sums.data(), width);
    const double twice = 2 * k == rows ? 1 : 2;
    result[k - 1] = {k, twice * xt::sum(sums * sums)() / (double(rows) * squares)};
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &FrequencyShare::share);
  return result;
}

std::vector<FrequencyShare> spectrum(const Checkpoint& checkpoint, const std::string& parameter,
                                     std::size_t rows) {
  const auto& all = checkpoint.parameters;
  const auto found = std::ranges::find(all, parameter, &NamedTensor::name);
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const NamedTensor& entry : all) names.push_back(entry.name);
    const std::string meant = nearest(parameter, names);
    check<ConfigError>(false, "no parameter ", parameter,
                       meant.empty() ? "" : "; did you mean " + meant + "?");
  }
  return std::visit(
      [&](const auto& x) {
        const std::size_t most = x.dimension() == 2 ? x.shape()[0] : 0;
        const std::size_t used = rows == 0 ? most : rows;
        check<ConfigError>(used >= 2 && used <= most, parameter, " is ", to_string(x.shape()),
                           ", not a matrix of at least ", std::max<std::size_t>(2, used), " rows");
        return spectrum(xt::cast<double>(xt::view(x, xt::range(0, used), xt::all())));
      },
      found->tensor);
}

std::string to_text(const std::vector<FrequencyShare>& shares) {
  std::vector<std::vector<std::string>> rows{{"frequency", "share", "sum"}};
  double sum = 0;
  for (const auto& [frequency, share] : shares) {
    sum += share;
    rows.push_back(
        {std::to_string(frequency), fmt::format("{:.4f}", share), fmt::format("{:.4f}", sum)});
  }
  return text_table(rows);
}

}  // namespace xgrad
