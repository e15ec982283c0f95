#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/tables/formats.hpp>

namespace xgrad {

void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, bool paragraphs,
                     const VisitBlock& visit) {
  check<DataError>(columns.size() == 1, bytes.name(), ": plain text has one column, the text, and ",
                   excerpt(columns.back()), " is wanted too; it needs task.labels = \"next\" or ",
                   "\"masked\"");
  Blocks blocks(bytes, columns, visit);
  std::string line, *paragraph = nullptr;
  for (std::size_t number = 1; !bytes.at_end(); ++number) {
    const std::string place = bytes.name() + ": line " + std::to_string(number);
    bytes.read_line(place, kMostText, "", line);
    check_text(place, line);
    if (line.find_first_not_of(" \t\v\f\r") == line.npos) {
      paragraph = nullptr;
      continue;
    }
    if (paragraph == nullptr || !paragraphs) {
      paragraph = &std::get<std::string>(blocks.add(number).emplace_back(line));
      continue;
    }
    *paragraph += '\n' + line;
    check<DataError>(paragraph->size() <= kMostText, place, ": the paragraph has more than ",
                     kMostText, " bytes");
  }
  blocks.finish();
}

}  // namespace xgrad
