#include <xgrad/data/tables/byte_stream.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <xgrad/data/watch_progress.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {

constexpr std::size_t kBlock = std::size_t(1) << 20;
constexpr std::size_t kMostOfPath = 1000;  // bytes in a message
constexpr std::uint64_t kMostWholeFile = std::uint64_t(4) << 30;

void check_exists(const std::string& path, const std::string& package) {
  std::error_code ignored;
  check<DataError>(std::filesystem::exists(path, ignored), clipped(path, kMostOfPath),
                   ": there is no such file",
                   package.empty() ? "" : "; install it with: apt-get install ", package);
}

ByteStream::ByteStream(const std::string& path) : name_(path), hash_(0, 0) {
  check_exists(path);
  as_data_error(path, [&] { file_.emplace(path); });
  size_ = file_->size();
  hash_ = StableHash(size_);
}

ByteStream::ByteStream(std::string name, std::string_view bytes)
    : name_(std::move(name)),
      size_(bytes.size()),
      read_(bytes.size()),
      ahead_(bytes),
      hash_(size_) {
  hash_.add(bytes);
}

void ByteStream::fill() {
  if (read_ == size_) return;
  const auto next = std::size_t(std::min<std::uint64_t>(kBlock, size_ - read_));
  buffer_.resize(next);
  as_data_error(name_, [&] { file_->read(read_, next, buffer_.data()); });
  read_ += next;
  ahead_ = buffer_;
  hash_.add(ahead_);
  WatchProgress::tell(name_, read_, size_);
}

void ByteStream::read_line(const std::string& place, std::size_t most, const char* what,
                           std::string& line) {
  line.clear();
  while (!at_end()) {
    const std::size_t size = std::min(ahead_.find('\n'), ahead_.size());
    check<DataError>(line.size() + size <= most, place, ": has more than ", most, " bytes", what);
    line += ahead_.substr(0, size);
    skip(size);
    if (take('\n')) break;
  }
  if (line.ends_with('\r')) line.pop_back();
}

std::string read_bytes(const std::string& path, const std::string& package) {
  check_exists(path, package);
  return as_data_error(path, [&] { return read_file(path, kMostWholeFile); });
}

}  // namespace xgrad
