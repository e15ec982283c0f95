// Runs a fuzz target where there is no libFuzzer: over the files of folders, and over as many
// random edits of them as asked for, the same ones every time: replay EDITS FOLDER...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kLargest = 20000;  // bytes: long inputs take long and find little

std::vector<std::string> read(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

// One to four times: a flipped bit, another byte, a part taken out, or a part of `other` put in.
std::string edited(std::string bytes, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) {
    return std::size_t(random() % std::max<std::size_t>(1, n));
  };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(bytes.size()), what = below(4);
    if (what < 2 && !bytes.empty()) {
      bytes[at] = char(what == 0 ? bytes[at] ^ (1 << below(8)) : below(256));
    } else if (what == 2) {
      bytes.erase(at, 1 + below(16));
    } else {
      bytes.insert(at, other, below(other.size()), 1 + below(64));
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<std::string> inputs;
  for (int i = 2; i < argc; ++i) {
    for (std::string& bytes : read(argv[i])) inputs.push_back(std::move(bytes));
  }
  for (const std::string& bytes : inputs) run(bytes);
  const std::size_t files = inputs.size();
  std::erase_if(inputs, [](const std::string& bytes) { return bytes.size() > kLargest; });
  const int edits = inputs.empty() ? 0 : std::atoi(argv[1]);
  std::mt19937_64 random(1);
  for (int i = 0; i < edits; ++i) {
    const auto& one = inputs[random() % inputs.size()];
    run(edited(one, inputs[random() % inputs.size()], random));
  }
  std::printf("%zu files and %d edits of them\n", files, edits);
  return files > 0 ? 0 : 1;
}
