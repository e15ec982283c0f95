#include <algorithm>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

namespace {

/// A line of a log.
struct Line {
  enum class Kind { row, bad, later } kind;
  std::uint64_t place = 0;  ///< of a row; a run writes them in this order, and each once
  std::uint64_t begin = 0;  ///< its first byte
};

Line line_of(const std::string& text, bool has_end, std::uint64_t step, bool validated) {
  const std::optional<MetricsRow> row = read_row(text);
  if (!row) return {has_end ? Line::Kind::bad : Line::Kind::later};
  const bool validation = row->split == "validation";
  const bool later =
      row->step > step || row->split == "test" || (row->step == step && validation && !validated);
  return later ? Line{Line::Kind::later} : Line{Line::Kind::row, 2 * row->step + validation};
}

/// Marks rows as bad so that the others increase; as few as possible, since a row with a wrong step
/// may stand before or after the one that shows it.
void mark_misplaced(std::vector<Line>& lines) {
  std::vector<std::size_t> rows, ends, before(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == Line::Kind::row) rows.push_back(i);
  }
  // ends[k]: last row of an increasing series of k + 1 rows, whose place is the lowest so far.
  for (const std::size_t i : rows) {
    const auto at = std::lower_bound(
        ends.begin(), ends.end(), i,
        [&](std::size_t a, std::size_t b) { return lines[a].place < lines[b].place; });
    if (at != ends.begin()) before[i] = at[-1];
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  for (const std::size_t i : rows) lines[i].kind = Line::Kind::bad;
  for (std::size_t left = ends.size(), i = left > 0 ? ends.back() : 0; left > 0; --left) {
    lines[i].kind = Line::Kind::row;
    i = before[i];
  }
}

}  // namespace

RowsUntil rows_until(const Folder& run, const std::string& name, std::uint64_t step,
                     bool validated) {
  std::vector<Line> lines;
  Lines reader(run.input(name));
  RowsUntil found;
  for (std::string text; reader.next(text); found.end = reader.position()) {
    found.has_end = reader.has_end();
    lines.push_back(line_of(text, found.has_end, step, validated));
    lines.back().begin = found.end;
  }
  mark_misplaced(lines);
  const auto is = [](Line::Kind kind) {
    return [=](const Line& line) { return line.kind == kind; };
  };
  const auto after = std::find_if(lines.rbegin(), lines.rend(), is(Line::Kind::row)).base();
  const auto end = std::find_if(after, lines.end(), is(Line::Kind::later));
  if (end != lines.end()) found = {.end = end->begin};
  for (auto line = lines.begin(); line != end; ++line) {
    if (line->kind != Line::Kind::row) found.bad.push_back(std::uint64_t(line - lines.begin()) + 1);
  }
  return found;
}

}  // namespace xgrad
