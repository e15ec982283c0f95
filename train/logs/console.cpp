#include <xgrad/train/logs/console.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <xgrad/text/amounts.hpp>

namespace xgrad {

static std::string bar(double part) {
  constexpr int width = 20;
  const int full = std::clamp(int(part * width), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i) text += i < full ? "━" : "─";
  return text;
}

static void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Console::Console(bool quiet, std::string unit)
    : quiet_(quiet), unit_(std::move(unit)), terminal_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

// Draws a bar and a text, at most ten times a second.
template <class Text>
void Console::draw(double part, const Text& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  drawn_ = true;
  write("\r\033[K" + bar(part) + " " + text());
}

void Console::progress(const Progress& p) {
  draw(double(p.step) / double(p.total), [&] {
    return fmt::format("{}/{}  loss {:.4f}  {} {}/s  {} left", grouped(p.step), grouped(p.total),
                       p.loss, grouped(std::uint64_t(p.rate)), unit_, clock(p.seconds_left));
  });
}

void Console::reading(const std::string& path, std::uint64_t read, std::uint64_t size) {
  const std::string name = std::filesystem::path(path).filename().string();
  counting("reading " + name, read, size, "MiB", 1 << 20);
}

void Console::counting(const std::string& what, std::uint64_t done, std::uint64_t total,
                       const char* unit, std::uint64_t of) {
  if (done == total) return clear_progress();
  draw(double(done) / double(total), [&] {
    return fmt::format("{}: {} of {} {}", what, grouped(done / of), grouped(total / of), unit);
  });
}

void Console::runs(const Runs& r) {
  if (r.done == r.total) return clear_progress();
  draw(double(r.done) / double(r.total), [&] {
    return fmt::format("{} of {} runs done, {} running{}{}", r.done, r.total, r.running,
                       r.best ? fmt::format(", best validation loss {:.4f}", *r.best) : "",
                       r.left ? fmt::format(", {} left", clock(*r.left)) : "");
  });
}

std::string Console::evaluation(const Progress& p, const Metrics& validation) {
  const std::vector<Figure> figures = validation.figures();
  if (!heads_shown_) {
    line(fmt::format("{:>10}  {:>10}  {:>10}  {:>17}  {:>9}  {:>12}", "step", "train loss",
                     "valid loss", "valid " + figures[1].name, "lr", unit_ + "/s"));
    heads_shown_ = true;
  }
  const bool steps = p.rate > 0;  // a resumed run may begin with an evaluation
  const std::string row = fmt::format(
      "{:>10}  {:>10}  {:>10.4f}  {:>17}  {:>9}  {:>12}", grouped(p.step),
      steps ? fmt::format("{:.4f}", p.loss) : "-", figures[0].value,
      figure_text(figures[1].value, figures[1].standard_error),
      steps ? fmt::format("{:.2e}", p.lr) : "-", steps ? grouped(std::uint64_t(p.rate)) : "-");
  line(row);
  return row;
}

void Console::line(const std::string& text) {
  if (quiet_) return;
  clear_progress();
  write(text + "\n");
}

void Console::clear_progress() {
  if (drawn_) write("\r\033[K");
  drawn_ = false;
  last_drawn_ = {};  // whatever comes next is drawn at once
}

}  // namespace xgrad
