// Data of users. The first byte chooses the reader: CSV, TSV, JSON Lines, npy, or that of a cell of
// edges.
#include <cstdint>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/storage/archives/npy.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  xgrad::ByteStream stream("a", bytes);
  try {
    switch (data[0]) {
      case 'c':
        xgrad::read_csv(stream, {"x", "y"}, ',', [](const xgrad::Table&) {});
        break;
      case 't':
        xgrad::read_csv(stream, {"x", "y"}, '\t', [](const xgrad::Table&) {});
        break;
      case 'j':
        xgrad::read_jsonl(stream, {"x", "y"}, [](const xgrad::Table&) {});
        break;
      case 'n':
        xgrad::read_npy(bytes);
        break;
      case 'e':
        xgrad::check_text("a.csv", bytes);
        xgrad::field_edges("a.csv", std::string(bytes), 4);
        break;
    }
  } catch (const xgrad::Error&) {
  }
  return 0;
}
