// report.html: one self-contained page about one run or several runs. Also the parts of the page
// that show a trained model, and charts as HTML and SVG. escape() cleans all text from outside.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/inspect/attention_study.hpp>

namespace xgrad {

struct RunGroup;

/// Returns the page about `runs`, paths of run directories. The page uses no script and loads
/// nothing. If a run failed or lost files, the page says what cannot be shown and why. `heads`
/// adds a study of each attention head. Throws IoError if a path is not a run.
std::string report_html(const std::vector<std::string>& runs, bool heads = false);

/// The names of all metrics that a group has in its last row of any of these splits
/// (RunGroup::last), without names of standard errors. In the order of `splits`, then of the rows.
std::vector<std::string> metrics_of(std::span<const RunGroup> groups,
                                    std::initializer_list<std::string> splits);

/// The parts of report.html that show a trained model. All strings are HTML.
struct Examination {
  std::string arithmetic;  ///< arithmetic in which the model was trained
  /// Titles and contents, if any: examples, attention maps, classes, confusion, embeddings, heads.
  std::vector<std::pair<std::string, std::string>> sections;
  /// Names and values to compare the test results with: the best possible result, the task's rules,
  /// and baselines fitted on as many training examples as the run saw, but at least 1,000.
  std::vector<std::vector<std::string>> references;
};

/// Loads the model of a run and evaluates it on the first 1,000 examples of the test split. `heads`
/// adds a study of each attention head, which takes one evaluation per head. Throws
/// CheckpointError, DataError, IoError.
Examination examine(const std::string& directory, bool heads);

/// V points, projected onto the plane of their first two principal components.
struct Projection {
  Tensor<double> points;            ///< (V, 2), relative to the mean of all points
  std::array<double, 2> explained;  ///< fraction of the variance along each component
};

/// Projects V points x (V, D) onto the first two eigenvectors of their covariance. Chooses the sign
/// of an eigenvector so that its component of the largest magnitude is positive. If all points are
/// equal, all results are 0. Returns nothing without liblapack.so.3, or without the 256 MiB of
/// memory that it needs. Throws ShapeError unless x is a matrix with D >= 2 and V >= 1.
std::optional<Projection> principal_components(const Tensor<double>& x);

namespace html {

/// Escapes text for an element or a quoted attribute. Special characters become entities; invalid
/// UTF-8, control characters and characters that XML forbids become U+FFFD.
std::string escape(std::string_view text);

/// Escapes a long name and allows line breaks after each `after`.
std::string breakable(std::string_view text, char after);

/// Returns a table. `rows[0]` holds the heads of the columns; the first cell of every other row is
/// the head of the row. Cells are already HTML.
std::string table(const std::vector<std::vector<std::string>>& rows);

extern const char* const kStyle;  ///< the style sheet of pages and pictures

std::string uri(const Picture& picture);  ///< returns a picture as a data: URI

/// Returns a fraction, with four digits and as a bar.
std::string bar(double fraction);

struct ChartPoint {
  double x, y;
  double error = 0;  ///< standard error, drawn as a band around the line
};

/// kLooks is the number of looks (colour and dashes) of lines: kColors solid looks, then the same
/// colours dashed, then dotted. Lines with the look kLooks are grey.
inline constexpr std::size_t kColors = 10, kLooks = 3 * kColors;

struct ChartLine {
  std::string name;
  std::size_t look = 0;  ///< colour and dashes; at most kLooks
  std::vector<ChartPoint> points;
};

/// A chart of lines. If all y are positive and their range is wide, the y axis is logarithmic. NaN
/// and infinity are left out.
struct Chart {
  std::string title, x, y;  ///< title of the chart and of its axes
  std::vector<ChartLine> lines;
  std::optional<ChartPoint> best = {};  ///< a point to mark: the best step
  std::string note = {};                ///< a sentence below the chart
  /// The horizontal axis is logarithmic if the largest x is more than this times the smallest.
  double logarithmic_from = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, std::string>> places =
      {};  ///< labels on the x axis; empty: round numbers
};

/// Returns a chart as part of a page. Empty if there is nothing to draw.
std::string chart(const Chart& chart);

/// Returns a chart with title and legend as a complete SVG file, for light and dark pages. Empty if
/// there is nothing to draw.
std::string picture(const Chart& chart);

/// Returns a small line chart without axes, for use in a table, beside the numbers of the line.
std::string sparkline(const std::string& title, const std::vector<ChartPoint>& points);

/// Returns an SVG text element. `anchor` is "start", "middle" or "end"; `more` adds attributes.
std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more = "");
/// Returns the title of an axis, centred at this point; `turned` for a vertical axis.
std::string axis_title(double x, double y, const std::string& text, bool turned = false);
/// The approximate width of a text in a drawing, in SVG units.
double text_width(std::string_view text);

/// Draws Patching::restored as an SVG file: a row for each activation, a column for each position,
/// named by `tokens`. White is 0, dark blue 1 or more, and dark orange -1 or less.
std::string patch_picture(const Patching& patching, const std::vector<std::string>& tokens);

/// Returns a short sample of a line with this look, to show before its name.
std::string sample(std::size_t look);
/// Returns one legend for any number of charts: a sample() and the name of each line.
std::string legend(const std::vector<ChartLine>& lines);

/// A scatter plot of the embeddings (V, D) of the first 200 tokens, with their names. Empty if
/// there are fewer than three tokens or two features, or no LAPACK. The colour of a token shows its
/// most frequent class in the examples (ties go to the first class). In an example, the class of a
/// token is its own target, or the target of its sequence. Colours have no meaning if inputs are
/// not tokens, targets are not classes, outputs are generated, or there are more classes than
/// colours.
std::string embeddings_section(const Tensor<double>& embeddings, const TaskShape& shape,
                               const Dataset& examples);

/// The attention maps of all heads for one example, with its tokens at the axes. `box` is HTML that
/// shows the example. Empty if there are no maps.
std::string maps_section(const std::vector<AttentionMap>& maps, const Example& example,
                         const TaskShape& shape, const std::string& box);

/// The attention metrics of each head, and loss and main metric of the model without this head.
std::string heads_section(const AttentionStudy& study);

/// The names of metrics_of(), except metrics computed from another, such as perplexity = exp(loss).
/// Leaves a metric out only if the formula holds in all rows of the runs or, with `last`, in their
/// last rows.
std::vector<std::string> own_metrics(std::span<const RunGroup> groups,
                                     std::initializer_list<std::string> splits, bool last);

/// A warning if the last validation loss is more than two standard errors and more than 1 % above
/// the lowest, and the training loss fell after the step of the lowest. Else empty.
std::string overfitting(const RunGroup& group);

/// Charts of the main metrics over steps. For a single group, marks the lowest validation loss.
std::string curves_section(std::span<const RunGroup> groups);

/// A table of the numbers of a group that have no chart: for each number a sparkline, and the
/// first, last, smallest and largest value.
std::string numbers_section(const RunGroup& group);

/// The rows of settings_of() in alphabetical order. Leaves out a key that some groups lack, such as
/// a key of one optimizer, if all groups that have the key give it the same value.
std::vector<std::vector<std::string>> chosen_settings(std::span<const RunGroup> groups);

/// Charts of main validation metrics over each key of chosen_settings(). Empty for 1 or 2 groups.
std::string settings_section(std::span<const RunGroup> groups);

}  // namespace html

}  // namespace xgrad
