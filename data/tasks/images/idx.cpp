#include <arpa/inet.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tasks/images/fashion_mnist.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kChunk = std::size_t(1) << 20;

// A gzipped or plain file.
struct Gzip {
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    detail::fail<DataError>(path, ": ", parts...);
  }

  // Reads up to n bytes; fewer only at the end of the file.
  std::size_t read(void* target, std::size_t n) const {
    const int count = gzread(file.get(), target, unsigned(n));
    int error = Z_OK;
    const char* reason = gzerror(file.get(), &error);
    if (error == Z_BUF_ERROR) fail("the file is cut off");
    if (count < 0 || error != Z_OK) fail("the file is damaged: ", reason);
    return std::size_t(count);
  }

  const std::string& path;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), gzclose_r};
};

std::vector<std::size_t> read_extents(const Gzip& file, std::size_t rank) {
  std::vector<std::uint32_t> head(1 + rank);  // big-endian: the magic number, then the extents
  const std::size_t count = file.read(head.data(), 4 * head.size());
  for (std::uint32_t& word : head) word = ntohl(word);
  if (count < 4 || head[0] != 0x800 + rank) {
    file.fail("is not an IDX file of bytes with ", rank, " axes");
  }
  if (count < 4 * head.size()) file.fail("the file is cut off in its header");
  return {head.begin() + 1, head.end()};
}

}  // namespace

IdxArray read_idx(const std::string& path, std::size_t rank) {
  errno = 0;
  const Gzip file{path};
  if (!file.file) file.fail("cannot be opened: ", errno ? std::strerror(errno) : "out of memory");
  gzbuffer(file.file.get(), 1 << 17);
  IdxArray array;
  array.extents = read_extents(file, rank);
  std::size_t size = 1;
  for (std::size_t extent : array.extents) {
    if (__builtin_mul_overflow(size, extent, &size)) file.fail("the shape is too large");
  }
  // Reads in chunks, so that a false header cannot make us allocate more memory than the file
  // fills.
  std::vector<std::uint8_t>& values = array.values;
  while (values.size() < size) {
    const std::size_t have = values.size(), wanted = std::min(kChunk, size - have);
    values.resize(have + wanted);
    const std::size_t count = file.read(values.data() + have, wanted);
    if (count < wanted) {
      file.fail("has ", have + count, " values, its header says ", size);
    }
  }
  std::uint8_t more;
  if (file.read(&more, 1) > 0) file.fail("has more values than its header says, ", size);
  return array;
}

}  // namespace xgrad
