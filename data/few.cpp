#include <xgrad/data/few.hpp>

#include <algorithm>

#include <xgrad/data/excerpt.hpp>

namespace xgrad {

std::string few(const std::vector<std::string>& words, const std::string& between) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> shown(words.begin(), words.begin() + std::min(words.size(), kMost));
  if (words.size() > kMost)
    shown.push_back("and " + std::to_string(words.size() - kMost) + " more");
  return joined(shown, between);
}

}  // namespace xgrad
