// Tomita's languages against regular expressions and counts, on all strings of up to 12 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <string>

#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

bool matches(const std::string& text, const char* pattern) {
  return std::regex_match(text, std::regex(pattern));
}

bool is_word(int language, const std::string& text) {
  const auto ones = std::count(text.begin(), text.end(), '1');
  const auto zeros = std::ptrdiff_t(text.size()) - ones;
  switch (language) {
    case 1:
      return matches(text, "1*");
    case 2:
      return matches(text, "(10)*");
    case 3:
      return !matches(text, "(|.*0)1(11)*0(00)*(|1.*)");
    case 4:
      return text.find("000") == std::string::npos;
    case 5:
      return zeros % 2 == 0 && ones % 2 == 0;
    case 6:
      return (zeros - ones) % 3 == 0;
    default:
      return matches(text, "0*1*0*1*");
  }
}

TEST(Tomita, AgreesWithExpressionsAndCounts) {
  for (int language = 1; language <= 7; ++language) {
    const auto task =
        find_task("tomita").make({{"length", 12}, {"language", std::int64_t(language)}}, 1);
    for (std::size_t number = 0; number < 4096; ++number) {
      std::string line, text;
      for (int bit = 11; bit >= 0; --bit) {
        text += (number >> bit & 1) == 1 ? '1' : '0';
        line += text.back() + std::string(" ");
      }
      const Example example = task->parse(line);
      // All prefixes of the strings of 12 bits are all strings of up to 12.
      const std::size_t last = number % 16 == 0 ? 0 : 11;
      for (std::size_t i = last; i < 12; ++i) {
        ASSERT_EQ(example.targets[i] == 1, is_word(language, text.substr(0, i + 1)))
            << language << ": " << text.substr(0, i + 1);
      }
    }
  }
}

}  // namespace
}  // namespace xgrad
