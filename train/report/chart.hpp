// Line charts as inline SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad::html {

struct ChartPoint {
  double x, y;
  double error = 0;  ///< a standard error, drawn as a band of 1.96 of them
};

struct ChartLine {
  std::string name;
  std::size_t color = 0;  ///< a number; lines of one run share it
  bool dashed = false;
  std::vector<ChartPoint> points;
};

/// Lines over x with axes and a legend. Values that span much, and are all above 0, are drawn on a
/// logarithmic axis; what is not finite is left out. Empty where nothing can be drawn.
std::string chart(const std::string& title, const std::vector<ChartLine>& lines);

}  // namespace xgrad::html
