// Helpers that write HTML, and charts as SVG: lines, and activation patching as a heat map. All
// text from outside goes through escape().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/inspect/activations.hpp>

namespace xgrad::html {

/// Escapes text for an element or a quoted attribute: special characters become entities, invalid
/// UTF-8, control characters and what XML forbids U+FFFD.
std::string escape(std::string_view text);

/// Escapes a long name and allows line breaks after each `after`.
std::string breakable(std::string_view text, char after);

/// Returns a table. `rows[0]` holds the column heads, the first cell of each other row is its head.
/// Cells are already HTML.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// The style sheet of pages and pictures.
extern const char* const kStyle;

/// Returns a picture as a data: URI.
std::string uri(const Picture& picture);

struct ChartPoint {
  double x, y;
  double error = 0;  ///< standard error, drawn as a band around the line
};

/// Number of distinguishable lines: kColors solid ones, then as many dashed, then as many dotted.
inline constexpr std::size_t kColors = 10, kLooks = 3 * kColors;

struct ChartLine {
  std::string name;
  std::size_t look = 0;  ///< colour and dashes; below kLooks
  std::vector<ChartPoint> points;
};

/// Returns a chart of lines over x with axes. Positive values over a wide range get a logarithmic
/// axis. Leaves out NaN and infinity. Empty if there is nothing to draw.
std::string chart(const std::string& title, const std::vector<ChartLine>& lines);

/// Returns an SVG file of its own: a chart with its title and legend, for light and dark pages. The
/// horizontal axis is logarithmic if x covers a wide range. Empty if there is nothing to draw.
std::string picture(const std::string& title, const std::vector<ChartLine>& lines);

/// Returns an SVG file: a row for each activation, a column for each position, named by `tokens`.
/// White is 0, dark blue 1 or more, and dark orange -1 or less.
std::string patch_picture(const Patching& patching, const std::vector<std::string>& tokens);

/// Returns a short sample of a line with this look, for use in front of its name.
std::string sample(std::size_t look);
/// Returns one legend for any number of charts: samples and names of the lines.
std::string legend(const std::vector<ChartLine>& lines);

}  // namespace xgrad::html
