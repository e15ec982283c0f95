#include <xgrad/train/inspect/spectrum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>

namespace xgrad {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// By the definition of the discrete Fourier transform, in long double, with all n frequencies.
std::vector<double> shares_by_definition(const Tensor<double>& x) {
  const std::size_t rows = x.shape()[0], width = x.shape()[1];
  std::vector<long double> power(rows);
  long double total = 0;
  for (std::size_t k = 1; k < rows; ++k) {
    for (std::size_t d = 0; d < width; ++d) {
      std::complex<long double> sum = 0;
      for (std::size_t j = 0; j < rows; ++j) {
        sum += (long double)(x(j, d)) *
               std::polar(1.0L, -2 * std::numbers::pi_v<long double> * (long double)(j * k) /
                                    (long double)(rows));
      }
      power[k] += std::norm(sum);
    }
    total += power[k];
  }
  std::vector<double> shares(rows / 2 + 1);
  for (std::size_t k = 1; k < rows; ++k) shares[std::min(k, rows - k)] += double(power[k] / total);
  return shares;
}

TEST(Spectrum, IsThatOfTheDefinition) {
  for (const auto& [rows, width] :
       {std::pair<std::size_t, std::size_t>{2, 1}, {9, 3}, {16, 5}, {113, 8}}) {
    Tensor<double> x = empty<double>({rows, width});
    const std::vector<double> normals = Rng(rows).normals(x.size());
    std::ranges::transform(normals, x.data(), [](double value) { return 3 + value; });
    const std::vector<double> expected = shares_by_definition(x);
    const std::vector<FrequencyShare> found = spectrum(x);
    ASSERT_EQ(found.size(), rows / 2);
    double sum = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].share, expected[found[i].frequency], 1e-12);
      if (i > 0) {
        EXPECT_LE(found[i].share, found[i - 1].share);
      }
      sum += found[i].share;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Spectrum, OfTwoWavesHasTheirAmplitudes) {
  // Amplitudes 3 and 4, whose squares share as 9 to 16.
  Tensor<double> x = empty<double>({113, 2});
  for (std::size_t j = 0; j < 113; ++j) {
    x(j, 0) = 1 + 3 * std::cos(kTurn * 14 * double(j) / 113 + 0.3);
    x(j, 1) = 4 * std::sin(kTurn * 41 * double(j) / 113);
  }
  const std::vector<FrequencyShare> found = spectrum(x);
  EXPECT_EQ(found[0].frequency, 41u);
  EXPECT_NEAR(found[0].share, 16.0 / 25, 1e-12);
  EXPECT_EQ(found[1].frequency, 14u);
  EXPECT_NEAR(found[1].share, 9.0 / 25, 1e-12);
  EXPECT_NEAR(found[2].share, 0, 1e-12);
}

TEST(Spectrum, RejectsWhatHasNone) {
  EXPECT_THROW(spectrum(zeros<double>({8})), ShapeError);
  EXPECT_THROW(spectrum(zeros<double>({1, 4})), ShapeError);
  EXPECT_THROW(spectrum(Tensor<double>(zeros<double>({3, 4}) + 2.0)), DataError);
}

TEST(Spectrum, OfAParameterTakesItsFirstRows) {
  Tensor<float> x = empty<float>({9, 2});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = float(i * i % 7);
  Checkpoint checkpoint;
  checkpoint.parameters = {{"embedding.weight", x}, {"bias", zeros<float>({9})}};
  const Tensor<double> first = xt::cast<double>(xt::view(x, xt::range(0, 6), xt::all()));
  const auto expected = spectrum(first), found = spectrum(checkpoint, "embedding.weight", 6);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].share, expected[i].share);
  EXPECT_EQ(spectrum(checkpoint, "embedding.weight", 0).size(), 4u);
  const auto error = [&](const std::string& name, std::size_t rows) -> std::string {
    try {
      spectrum(checkpoint, name, rows);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("embeding.weight", 0),
            "no parameter embeding.weight; did you mean embedding.weight?");
  EXPECT_EQ(error("embedding.weight", 10),
            "embedding.weight is (9, 2), not a matrix of at least 10 rows");
  EXPECT_EQ(error("bias", 0), "bias is (9), not a matrix of at least 2 rows");
}

}  // namespace
}  // namespace xgrad
