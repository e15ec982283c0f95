#include <xgrad/cli/deploy/ready_lines.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad::commands {

std::vector<std::string> ReadyLines::next(std::size_t most) {
  std::vector<std::string> lines;
  for (std::string line; lines.size() < most;) {
    if (take(line)) {
      lines.push_back(std::move(line));
      if (rest_) break;  // which may be endless
    } else if (ended_ || (!lines.empty() && !is_ready())) {
      break;
    } else {
      fill();
    }
  }
  return lines;
}

bool ReadyLines::take(std::string& line) {
  const std::size_t end = std::min(buffer_.find('\n', searched_), buffer_.size());
  searched_ = end;
  const bool ends = end < buffer_.size(), whole = ends || (ended_ && begin_ < end);
  if (rest_) {  // of a line whose start was returned
    begin_ = searched_ = std::min(end + 1, buffer_.size());
    rest_ = !ends;
    return ends && take(line);
  }
  if (!whole && end - begin_ <= kMostText + 1) return false;  // one more: \r of the line end
  line = buffer_.substr(begin_, end - begin_);
  if (whole && line.ends_with('\r')) line.pop_back();
  begin_ = searched_ = std::min(end + 1, buffer_.size());
  rest_ = !ends;
  return true;
}

bool ReadyLines::is_ready() const {
  pollfd descriptor = {descriptor_, POLLIN, 0};
  return poll(&descriptor, 1, 0) > 0;
}

void ReadyLines::fill() {
  constexpr std::size_t kBytes = 1 << 16;
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kBytes);
  ssize_t got = 0;
  do {
    got = read(descriptor_, buffer_.data() + before, kBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(before + std::size_t(std::max<ssize_t>(got, 0)));
  if (got < 0) detail::fail<IoError>("cannot read standard input: ", std::strerror(errno));
  ended_ = got == 0;
}

}  // namespace xgrad::commands
