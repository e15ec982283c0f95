#include <algorithm>

#include <xgrad/autograd/kernels/portable_math.hpp>
#include <xgrad/data/synthetic/chain.hpp>

namespace xgrad {

namespace {

struct Sizes {
  std::size_t vectors, features;
  double spread;  // deviation of the centres; vectors have deviation 1 from their centre
};

Example draw(const Rng& rng, const Sizes& sizes) {
  const std::size_t odd = (rng / "odd").below(sizes.vectors, 0);
  const std::size_t features = sizes.features, count = sizes.vectors * features;
  const auto centre = (rng / "centre").normals(features), other = (rng / "other").normals(features);
  const auto noise = (rng / "noise").normals(count);
  Example example;
  example.features.reserve(count);
  for (std::size_t i = 0; i < sizes.vectors; ++i) {
    for (std::size_t k = 0; k < features; ++k) {
      const double mean = sizes.spread * (i == odd ? other : centre)[k];
      example.features.push_back(float(mean + noise[i * features + k]));
    }
    example.targets.push_back(i == odd);
  }
  return example;
}

// Returns the probability of each vector to be the odd one. The n others surround a centre that is
// normal with variance s^2. So for each coordinate, up to a constant,
//
//     log p(x | odd is i) = -1/2 (x_i^2 / (1 + s^2) + sum_others x^2
//                                 - s^2 (sum_others x)^2 / (1 + n s^2))
std::vector<double> posterior(const std::vector<float>& x, const Sizes& sizes) {
  const double variance = sizes.spread * sizes.spread, n = double(sizes.vectors - 1);
  std::vector<double> score(sizes.vectors);
  for (std::size_t k = 0; k < sizes.features; ++k) {
    double sum = 0, squares = 0;
    for (std::size_t i = k; i < x.size(); i += sizes.features) {
      sum += double(x[i]);
      squares += double(x[i]) * double(x[i]);
    }
    for (std::size_t i = 0; i < sizes.vectors; ++i) {
      const double own = double(x[i * sizes.features + k]), others = sum - own;
      score[i] -= (own * own / (1 + variance) + squares - own * own -
                   variance * others * others / (1 + n * variance)) /
                  2;
    }
  }
  const double highest = *std::max_element(score.begin(), score.end());
  double total = 0;
  for (double& s : score) total += s = portable::exp(s - highest);
  for (double& s : score) s /= total;
  return score;
}

}  // namespace

// A set has no order. A model without positions suits it: its answer for a vector does not depend
// on the vector's position.
TaskEntry anomaly_task() {
  const auto describe = [](const Options& options) {
    const Sizes sizes{get_size(options, "vectors"), get_size(options, "features"),
                      get_double(options, "spread")};
    Synthetic task;
    task.shape = {.input = InputKind::vectors,
                  .max_length = sizes.vectors,
                  .class_names = {"usual", "odd"},
                  .features = sizes.features};
    task.draw = [sizes](const Rng& rng) { return draw(rng, sizes); };
    task.best = [sizes](const Example& input) {
      Synthetic::Best sum;
      for (double p : posterior(input.features, sizes)) {
        const double either[] = {p, 1 - p};
        add_best_guess(either, 2, sum);
      }
      return sum;
    };
    return task;
  };
  return synthetic_task(
      {.name = "anomaly",
       .summary = "Find the odd vector in a set: the others are drawn around one centre, it around "
                  "another.",
       .options =
           {{"vectors", 10, "Vectors in a set, the odd one included.", 3, 4096},
            {"features", 4, "Numbers in a vector.", 1, 4096},
            {"spread", 2.0,
             "Standard deviation of the centres, relative to that of vectors around a centre.",
             above(0), 1000}},
       .needs = "No positions and one layer, which compares each vector with all others.",
       .theory =
           "solvable: one layer without positions compares each vector with the mean of the others",
       .source = "the set anomaly detection of Lee et al. 2019 (Set Transformer), "
                 "arXiv:1810.00825, on Gaussian vectors",
       .best = kComputed},
      describe);
}

}  // namespace xgrad
