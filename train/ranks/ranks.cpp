#include <xgrad/train/ranks/ranks.hpp>

#include <algorithm>
#include <exception>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

static Ranks* current = nullptr;

// Gathers lists of different lengths. Returns the range of each rank in the result.
template <class List>
static std::vector<Range> gather_lists(Ranks& ranks, const List& own, List& all) {
  std::vector<Range> of_rank;
  std::size_t end = 0;
  for (const std::size_t size : gather_all(ranks, own.size())) {
    of_rank.push_back({end, end + size});
    end += size;
  }
  all.resize(end);
  std::copy(own.begin(), own.end(), all.begin() + std::ptrdiff_t(of_rank[ranks.rank()].begin));
  ranks.gather(all.data(), of_rank, sizeof(typename List::value_type));
  return of_rank;
}

Ranks& alone() {
  static Ranks alone;
  return alone;
}

Ranks& ranks() {
  return current != nullptr ? *current : alone();
}

void set_ranks(Ranks* ranks) {
  current = ranks;
}

std::vector<std::string> gather_texts(Ranks& ranks, const std::string& own) {
  if (ranks.size() == 1) return {own};
  std::string all;
  std::vector<std::string> texts;
  for (const Range& range : gather_lists(ranks, own, all)) {
    texts.push_back(all.substr(range.begin, range.size()));
  }
  return texts;
}

std::vector<double> gather_numbers(Ranks& ranks, const std::vector<double>& own) {
  if (ranks.size() == 1) return own;
  std::vector<double> all;
  gather_lists(ranks, own, all);
  return all;
}

void together(Ranks& ranks, const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::string failure;
  try {
    work();
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    failure = error.what();
  }
  const std::vector<std::string> failures = gather_texts(ranks, failure);
  if (thrown) std::rethrow_exception(thrown);
  for (std::size_t r = 0; r < failures.size(); ++r) {
    check<Error>(failures[r].empty(), "rank ", r, ": ", failures[r]);
  }
}

bool any(Ranks& ranks, bool here) {
  return std::ranges::count(gather_all(ranks, char(here)), char(true)) > 0;
}

std::string first_text(Ranks& ranks, const std::string& own) {
  if (!any(ranks, !own.empty())) return "";
  const std::vector<std::string> texts = gather_texts(ranks, own);
  return *std::ranges::find_if_not(texts, &std::string::empty);
}

}  // namespace xgrad
