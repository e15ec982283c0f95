#include <xgrad/train/logs/event_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

/// CRC-32C of each byte: remainders by Castagnoli's polynomial with bits in reverse order (RFC
/// 3720, appendix B.4).
constexpr auto kCrc32c = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1) * 0x82f63b78u;
  }
  return table;
}();

template <class Number>
std::string bytes_of(Number x) {
  return std::string(reinterpret_cast<const char*>(&x), sizeof x);
}

}  // namespace

std::uint32_t masked_crc32c(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = crc >> 8 ^ kCrc32c[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string EventFile::new_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  // The number distinguishes files of one process and second.
  static int number = 0;
  return "events.out.tfevents." + std::to_string(std::time(nullptr)) + "." + host + "." +
         std::to_string(::getpid()) + "." + std::to_string(number++);
}

EventFile::EventFile(const Folder& directory, const std::string& name)
    : path_(directory.path_of(name)),
      file_(directory.open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)) {}

void EventFile::append(const std::string& event) {
  const std::string length = bytes_of(std::uint64_t(event.size()));
  const std::string record =
      length + bytes_of(masked_crc32c(length)) + event + bytes_of(masked_crc32c(event));
  // A single call, so that readers never see part of a record, however the run ends.
  const ssize_t written = ::write(file_, record.data(), record.size());
  check<IoError>(written == ssize_t(record.size()), path_, ": cannot write: ",
                 written < 0 ? std::strerror(errno) : "only a part of a record fitted");
}

}  // namespace xgrad
