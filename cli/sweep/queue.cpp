#include <xgrad/cli/sweep/queue.hpp>

#include <unistd.h>

#include <filesystem>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/sweep/claims.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/metrics/history.hpp>

namespace xgrad::commands {

bool holds(const std::string& directory, const std::string& name) {
  return std::filesystem::exists(status_of(directory + "/" + name));
}

Queue::Queue(std::string config, std::vector<Job> jobs, bool shared)
    : config_(std::move(config)), shared_(shared) {
  for (Job& job : jobs) {
    const Config wanted = load_config(config_, job.overrides);
    if (holds(job.directory, "config.toml")) {
      const auto other = differences(read_run(job.directory).config, wanted);
      check<ConfigError>(other.empty(), job.directory, " is a run of another config (",
                         other.empty() ? "" : to_string(other[0]), "); choose another --out");
    }
    if (!is_done(job)) left_.push_back(std::move(job));
  }
}

// A run without its page is resumed, which writes the page.
bool Queue::is_done(const Job& job) const {
  if (!holds(job.directory, "config.toml")) return false;
  const RunHistory record = read_run(job.directory);
  if (shared_ && record.state == RunHistory::State::failed) return true;
  return record.state == RunHistory::State::finished && holds(job.directory, "report.html");
}

std::vector<std::string> Queue::words(const Job& job, std::size_t threads) const {
  if (holds(job.directory, "config.toml")) return {"resume", job.directory, "--quiet"};
  std::vector<std::string> words = {"train", config_, "--quiet"};
  words.insert(words.end(), job.overrides.begin(), job.overrides.end());
  words.push_back("run.dir=" + to_literal(job.directory));
  words.push_back("train.threads=" + std::to_string(threads));
  return words;
}

NextChild Queue::next(std::size_t threads) {
  for (std::size_t i = 0; i < left_.size();) {
    const auto position = left_.begin() + std::ptrdiff_t(i);
    const std::string log = position->directory + ".log";
    auto file = claim(log);
    check<LockError>(file || shared_, position->directory,
                     " is done by another sweep at this moment; --worker shares the runs with it");
    if (!file) {
      ++i;
      continue;
    }
    const Job job = std::move(*position);
    left_.erase(position);
    // Another worker may have done it since the last look.
    if (is_done(job)) continue;
    if (::ftruncate(*file, 0) != 0) xgrad::detail::fail_io(log, "cannot empty");
    return {Child{words(job, threads), log, std::move(*file)}};
  }
  return {.later = !left_.empty()};
}

}  // namespace xgrad::commands
