#include <xgrad/storage/formats/whole_file.hpp>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/format_error.hpp>

namespace xgrad {

std::string read_whole(const InputFile& file, Measure* measure) {
  const std::uint64_t size = measure == nullptr ? file.size() : measure(file);
  check<FormatError>(size <= kMostWholeFile, "has ", size, " bytes, must have at most ",
                     kMostWholeFile);
  return file.read(0, size);
}

}  // namespace xgrad
