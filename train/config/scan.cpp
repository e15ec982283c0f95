#include <xgrad/train/config/scan.hpp>

#include <algorithm>
#include <string_view>

namespace xgrad::detail {

namespace {

constexpr unsigned kMaxDepth = 32;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  }

  std::optional<ScanProblem> run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (!is_continuation(c)) ++column_;
      if (c == '\n') {
        start_line();
      } else if (!comment_) {
        if (const char* wrong = quote_ != 0 ? inside_string(c) : outside(c))
          return ScanProblem{line_, std::max(column_, 1u), wrong};
      }
    }
    return std::nullopt;
  }

 private:
  void start_line() {
    ++line_;
    column_ = depth_ = 0;
    quote_ = 0;
    comment_ = false;
  }

  const char* inside_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\' && quote_ == '"') {
      escaped_ = true;
    } else if (c == quote_) {
      quote_ = 0;
    }
    return nullptr;
  }

  const char* outside(char c) {
    if (static_cast<signed char>(c) < 0)
      return "a character beyond ASCII outside of a string or comment";
    comment_ = c == '#';
    if (c == '"' || c == '\'') {
      const std::string_view ahead = text_.substr(at_, 3);
      if (ahead == "\"\"\"" || ahead == "'''") return "a multi-line string, which no key takes";
      quote_ = c;
      escaped_ = false;
    }
    if (c == '.' || c == '[' || c == '{') ++depth_;
    return depth_ > kMaxDepth ? "more than 32 dots and brackets in one line" : nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1, column_ = 0, depth_ = 0;
  char quote_ = 0;
  bool escaped_ = false, comment_ = false;
};

}  // namespace

std::optional<ScanProblem> scan(const std::string& text) {
  return Scanner(text).run();
}

}  // namespace xgrad::detail
