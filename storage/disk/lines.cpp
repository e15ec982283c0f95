#include <xgrad/storage/disk/lines.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

bool Lines::next(std::string& line) {
  constexpr std::uint64_t kBlock = 1 << 16;
  line.clear();
  has_end_ = false;
  ++number_;
  while (!has_end_) {
    if (used_ == block_.size()) {
      if (read_ == file_.size()) break;
      block_ = file_.read(read_, std::size_t(std::min(kBlock, file_.size() - read_)));
      read_ += block_.size();
      used_ = 0;
    }
    const std::size_t end = std::min(block_.find('\n', used_), block_.size());
    has_end_ = end < block_.size();
    line.append(block_, used_, end - used_);
    used_ = end + has_end_;
    check<IoError>(line.size() <= kMostLine, file_.path(), ": line ", number_, " has more than ",
                   kMostLine, " bytes");
  }
  position_ += line.size() + has_end_;
  return has_end_ || !line.empty();
}

}  // namespace xgrad
