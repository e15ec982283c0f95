#include <xgrad/train/report/report.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <xtensor-blas/xlinalg.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/excerpt.hpp>

namespace {

using Dsyevd = void(const char*, const char*, const int*, double*, const int*, double*, double*,
                    const int*, int*, const int*, int*);

// Whether this process may use the memory that OpenBLAS takes when it is loaded. If a limit forbids
// it, OpenBLAS would wait forever.
bool has_room() {
  constexpr std::size_t kBytes = 256 << 20;
  void* const room =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && ::munmap(room, kBytes) == 0;
}

// LAPACK's function, from the library that Debian's alternatives choose; null if there is none. It
// is loaded only at the first call, because OpenBLAS starts threads when it is loaded, and ends the
// process if it cannot start them.
Dsyevd* lapack_dsyevd() {
  static void* const library =
      has_room() ? ::dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL) : nullptr;
  static void* const found = library == nullptr ? nullptr : ::dlsym(library, "dsyevd_");
  return reinterpret_cast<Dsyevd*>(found);
}

}  // namespace

// xtensor-blas calls LAPACK's function by this name.
extern "C" [[gnu::visibility("hidden")]] void dsyevd_(const char* job, const char* half,
                                                      const int* n, double* a, const int* row,
                                                      double* values, double* work,
                                                      const int* work_size, int* indices,
                                                      const int* indices_size, int* info) {
  lapack_dsyevd()(job, half, n, a, row, values, work, work_size, indices, indices_size, info);
}

namespace xgrad {

namespace {

constexpr std::size_t kMostTokens = 200;                     // more names cannot be read
constexpr double kWidth = 800, kHeight = 500, kMargin = 36;  // in SVG units
constexpr std::size_t kLongest = 24;                         // of a name, in bytes

// Counts how often each token has each class: (tokens, classes).
std::vector<std::size_t> count_classes(const TaskShape& shape, const Dataset& examples,
                                       std::size_t tokens) {
  std::vector<std::size_t> counts(tokens * shape.classes);
  for (std::size_t e = 0; e < examples.size(); ++e) {
    const Example example = examples.get(0, e);
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      const auto token = std::size_t(example.ids[i]);
      const std::size_t at = shape.output == OutputKind::tokens ? i : 0;
      if (token >= tokens || at >= example.targets.size() || example.targets[at] < 0) continue;
      ++counts[token * shape.classes + std::size_t(example.targets[at])];
    }
  }
  return counts;
}

struct Box {
  double left, top, right, bottom;
  bool overlaps(const Box& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
};

// Finds a place for a name of this width beside, above or below a point, so that it covers neither
// a point nor another name, and adds the place to `taken`. Returns nothing if there is no room.
std::optional<Box> place_name(double x, double y, double width, std::vector<Box>& taken) {
  constexpr double kGap = 4, kUp = 9, kDown = 3;  // a line of text, from its baseline
  const double beside = x + kGap + 1, before = x - kGap - 1 - width, middle = x - width / 2;
  const std::pair<double, double> places[] = {
      {beside, y + 4},          {before, y + 4},         {middle, y - kGap - kDown},
      {middle, y + kGap + kUp}, {beside, y - kGap},      {beside, y + kGap + kUp},
      {before, y - kGap},       {before, y + kGap + kUp}};
  for (const auto& [left, base] : places) {
    const Box box{left, base - kUp, left + width, base + kDown};
    const bool inside = left > 18 && box.top > 0 && box.right < kWidth && box.bottom < kHeight - 18;
    const auto covers = [&](const Box& other) { return box.overlaps(other); };
    if (!inside || std::ranges::any_of(taken, covers)) continue;
    taken.push_back(box);
    return box;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Projection> principal_components(const Tensor<double>& x) {
  check_shape(x.dimension() == 2 && x.shape()[0] >= 1 && x.shape()[1] >= 2,
              "principal_components: expected points (V, D) with D of at least 2, got ",
              to_string(x.shape()));
  if (lapack_dsyevd() == nullptr) return std::nullopt;
  const std::size_t count = x.shape()[0], width = x.shape()[1];
  const Tensor<double> centred = x - xt::mean(x, {0});
  // The coordinates along a component are an eigenvector u of X X^T, scaled to the square root of
  // its eigenvalue; the direction is X^T u.
  Tensor<double> products = empty<double>({count, count});
  parallel_gemm<double>(count, count, width, 1, {centred.data(), width},
                        {centred.data(), width, Transpose::yes}, 0, products.data(), count);
  const std::tuple found = xt::linalg::eigh(products);
  const auto& [values, vectors] = found;  // in ascending order
  const double variance = xt::sum(values)();
  Projection result{zeros<double>({count, 2}), {0, 0}};
  for (std::size_t c = 0; c < std::min<std::size_t>(2, count); ++c) {
    const double value = values(count - 1 - c);
    if (!(value > 1e-13 * variance)) continue;
    const Tensor<double> u = xt::view(vectors, xt::all(), xt::range(count - 1 - c, count - c));
    const Tensor<double> direction = xt::sum(centred * u, {0});
    const auto [least, most] = std::minmax_element(direction.begin(), direction.end());
    xt::col(result.points, c) = xt::col(u, 0) * std::copysign(std::sqrt(value), *most + *least);
    result.explained[c] = value / variance;
  }
  return result;
}

std::string html::embeddings_section(const Tensor<double>& embeddings, const TaskShape& shape,
                                     const Dataset& examples) {
  const std::size_t tokens = std::min(kMostTokens, shape.vocabulary), classes = shape.classes;
  if (tokens < 3 || embeddings.shape()[1] < 2) return "";
  const auto projection = principal_components(xt::view(embeddings, xt::range(0, tokens)));
  if (!projection) return "";
  const Tensor<double>& points = projection->points;
  const bool by_class = shape.input == InputKind::tokens && shape.target == TargetKind::classes &&
                        shape.output != OutputKind::generated && classes <= kColors;
  std::vector<std::size_t> counts;
  if (by_class) counts = count_classes(shape, examples, tokens);
  const Tensor<double> least = xt::amin(points, {0}), most = xt::amax(points, {0});
  const double left = least(0), bottom = least(1), right = most(0), top = most(1);
  // One scale for both axes, so that distances can be compared.
  const double scale = std::min((kWidth - 2 * kMargin) / std::max(1e-12, right - left),
                                (kHeight - 2 * kMargin) / std::max(1e-12, top - bottom));
  std::string text = fmt::format(
      "<p class=\"soft\">The embeddings of {} tokens in the plane of their first two principal "
      "components, which explain {:.1f} % and {:.1f} % of their variance. ",
      tokens < shape.vocabulary
          ? fmt::format("the first {} of {}", tokens, grouped(shape.vocabulary))
          : fmt::format("all {}", tokens),
      100 * projection->explained[0], 100 * projection->explained[1]);
  text += !by_class ? "Colours have no meaning.</p>\n"
                    : "The colour of a token is its most frequent class in the examples.</p>\n";
  // Does not use legend(), because that legend stays at the top of the window, for the charts.
  text += "<p>";
  for (std::size_t c = 0; by_class && c < classes; ++c) {
    text += "<span>" + sample(c) + escape(class_text(std::int32_t(c), shape)) + "</span> ";
  }
  text += fmt::format(
      "</p>\n<div class=\"wide\"><figure class=\"plane\"><svg viewBox=\"0 0 {:g} {:g}\" "
      "role=\"img\" aria-label=\"token embeddings\">\n",
      kWidth, kHeight);
  text += axis_title(kWidth / 2, kHeight - 6, "first principal component");
  text += axis_title(13, kHeight / 2, "second principal component", /*turned=*/true);
  const auto x = [&](std::size_t i) { return kMargin + scale * (points(i, 0) - left); };
  const auto y = [&](std::size_t i) { return kMargin + scale * (top - points(i, 1)); };
  std::vector<Box> taken;
  for (std::size_t i = 0; i < tokens; ++i) {
    taken.push_back({x(i) - 3, y(i) - 3, x(i) + 3, y(i) + 3});
  }
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::string name =
        i < shape.token_names.size() ? shape.token_names[i] : std::to_string(i);
    const std::string shown = clipped(name, kLongest);
    const auto first = counts.begin() + std::ptrdiff_t(by_class ? i * classes : 0);
    const auto often = std::max_element(first, first + std::ptrdiff_t(by_class ? classes : 0));
    const auto place = place_name(x(i), y(i), text_width(shown), taken);
    text += fmt::format(
        "<g class=\"c{}\"><title>{}: {:.6g}, {:.6g}</title><circle cx=\"{:.1f}\" cy=\"{:.1f}\" "
        "r=\"3\"/>{}</g>\n",
        by_class ? std::size_t(often - first) : i % kColors, escape(name), points(i, 0),
        points(i, 1), x(i), y(i),
        place ? text_at(place->left, place->bottom - 3, "start", shown) : "");
  }
  return text + "</svg></figure></div>\n";
}

}  // namespace xgrad
