#include "support/golden.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "support/source_tree.hpp"

namespace xgrad::test {

namespace {

Shape parse_shape(const std::string& text) {
  std::vector<std::size_t> extents;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string extent; std::getline(in, extent, 'x');) extents.push_back(std::stoul(extent));
  return Shape(extents.begin(), extents.end());
}

}  // namespace

Golden::Golden(const std::string& file) {
  const char* elsewhere = std::getenv("XGRAD_GOLDEN");
  const std::string path =
      (elsewhere ? std::string(elsewhere) : source_path("tests/golden")) + "/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, shape, number;
    words >> name >> shape;
    std::vector<double> values;
    while (words >> number) values.push_back(std::stod(number));
    Tensor<double> tensor = empty<double>(parse_shape(shape));
    if (tensor.size() != values.size()) throw std::runtime_error(path + ": wrong size: " + name);
    std::copy(values.begin(), values.end(), tensor.data());
    tensors_.emplace(name, std::move(tensor));
  }
}

std::map<std::string, Tensor<double>> Golden::under(const std::string& prefix) const {
  std::map<std::string, Tensor<double>> found;
  for (const auto& [name, tensor] : tensors_) {
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  }
  return found;
}

const Tensor<double>& worked_example(const std::string& name) {
  static const Golden examples("worked_examples.txt");
  return examples(name);
}

}  // namespace xgrad::test
