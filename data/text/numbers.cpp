#include <xgrad/data/text/numbers.hpp>

#include <algorithm>
#include <charconv>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>

namespace xgrad {

std::vector<std::int32_t> parse_numbers(const std::string& what, std::string_view line,
                                        std::int32_t largest) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = line.find_first_not_of(kSpace); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    std::int32_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    check<DataError>(error == std::errc() && stop == word.data() + word.size() && number >= 0 &&
                         number <= largest,
                     what, " ", numbers.size() + 1, " is ", excerpt(word),
                     ", must be a whole number from 0 to ", largest);
    numbers.push_back(number);
    begin = line.find_first_not_of(kSpace, end);
  }
  return numbers;
}

}  // namespace xgrad
