#include <xgrad/data/tables/plain_text.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace {

// Reads a line without its end.
std::string read_line(ByteStream& bytes, std::size_t number) {
  const std::string place = bytes.name() + ": line " + std::to_string(number);
  std::string line;
  while (!bytes.at_end()) {
    const std::string_view ahead = bytes.ahead();
    const std::size_t size = std::min(ahead.find('\n'), ahead.size());
    check<DataError>(line.size() + size <= kMostText, place, ": has more than ", kMostText,
                     " bytes");
    line += ahead.substr(0, size);
    bytes.skip(size);
    if (bytes.take('\n')) break;
  }
  if (line.ends_with('\r')) line.pop_back();
  check_text(place, line);
  return line;
}

}  // namespace

void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, TextRows kind,
                     const VisitBlock& visit) {
  check<DataError>(columns.size() == 1, bytes.name(), ": plain text has one column, the text, and ",
                   excerpt(columns.back()), " is wanted too; it needs task.labels = \"next\" or ",
                   "\"masked\"");
  Blocks blocks(bytes, columns, visit);
  std::string* paragraph = nullptr;
  for (std::size_t number = 1; !bytes.at_end(); ++number) {
    const std::string line = read_line(bytes, number);
    if (line.find_first_not_of(" \t\v\f\r") == line.npos) {
      paragraph = nullptr;
      continue;
    }
    if (paragraph == nullptr || kind == TextRows::lines) {
      paragraph = &std::get<std::string>(blocks.add(number).emplace_back(line));
      continue;
    }
    *paragraph += '\n' + line;
    check<DataError>(paragraph->size() <= kMostText, bytes.name(), ": line ", number,
                     ": the paragraph has more than ", kMostText, " bytes");
  }
  blocks.finish();
}

}  // namespace xgrad
