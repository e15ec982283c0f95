#include <xgrad/train/inspect/principal_components.hpp>

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <xtensor-blas/xlinalg.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>

namespace {

using Dsyevd = void(const char*, const char*, const int*, double*, const int*, double*, double*,
                    const int*, int*, const int*, int*);

// Whether the process may have as much memory as OpenBLAS takes when it is loaded. It would wait
// forever for memory that a limit refuses.
bool has_room() {
  constexpr std::size_t kBytes = 256 << 20;
  void* const room =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && ::munmap(room, kBytes) == 0;
}

// LAPACK's function, of the library that Debian's alternatives choose; null if there is none. It is
// loaded at the first call, since OpenBLAS starts threads when it is loaded, and ends a process
// that may start none.
Dsyevd* lapack_dsyevd() {
  static void* const library =
      has_room() ? ::dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL) : nullptr;
  static void* const found = library == nullptr ? nullptr : ::dlsym(library, "dsyevd_");
  return reinterpret_cast<Dsyevd*>(found);
}

}  // namespace

// Under this name xtensor-blas calls it.
extern "C" [[gnu::visibility("hidden")]] void dsyevd_(const char* job, const char* half,
                                                      const int* n, double* a, const int* row,
                                                      double* values, double* work,
                                                      const int* work_size, int* indices,
                                                      const int* indices_size, int* info) {
  lapack_dsyevd()(job, half, n, a, row, values, work, work_size, indices, indices_size, info);
}

namespace xgrad {

std::optional<Projection> principal_components(const Tensor<double>& x) {
  check_shape(x.dimension() == 2 && x.shape()[0] >= 1 && x.shape()[1] >= 2,
              "principal_components: expected points (V, D) with D of at least 2, got ",
              to_string(x.shape()));
  if (lapack_dsyevd() == nullptr) return std::nullopt;
  const std::size_t count = x.shape()[0], width = x.shape()[1];
  const Tensor<double> centred = x - xt::mean(x, {0});
  // The places along a component are an eigenvector u of X X^T, as long as the root of its
  // eigenvalue; the direction is X^T u.
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

}  // namespace xgrad
