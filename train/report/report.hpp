// report.html: one self-contained page about one run or several, what it shows of a model, and the
// HTML and charts as SVG that it consists of. All text from outside goes through escape().
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/inspect/activations.hpp>

namespace xgrad {

struct RunGroup;

/// Returns the page. It uses no script and loads nothing. Where a run failed or lost files, it says
/// what cannot be shown and why. `heads` adds a study of each head. Throws IoError if a path is not
/// a run.
std::string report_html(const std::vector<std::string>& runs, bool heads = false);

/// The names of all metrics in the last rows of some splits, in the order of the rows.
std::vector<std::string> metrics_of(const std::vector<RunGroup>& groups,
                                    std::initializer_list<std::string> splits);

/// The parts of report.html that show a trained model. Text is HTML.
struct Examination {
  std::string arithmetic;  ///< that it was trained in
  /// Titles and contents: confusion matrix, examples, attention maps, embeddings, heads, if any.
  std::vector<std::pair<std::string, std::string>> sections;
  /// Names and values of references for the results on the test split: the best possible, baselines
  /// from counts in training data, at least 1,000 examples, and the task's rules.
  std::vector<std::vector<std::string>> references;
};

/// Loads the model of a run and evaluates it on the first 1,000 examples of the test
/// split. `heads` adds a study of each head, which takes one evaluation per head. Throws
/// CheckpointError, DataError, IoError.
Examination examine(const std::string& directory, bool heads);

/// Points in the plane of their first two principal components.
struct Projection {
  Tensor<double> points;            ///< (V, 2), relative to the mean of all points
  std::array<double, 2> explained;  ///< fraction of the variance along each component
};

/// Projects V points x (V, D) onto the first two eigenvectors of their covariance. Each eigenvector
/// has a positive component of largest size. All is 0 where points do not differ. Returns nothing
/// if the system has no liblapack.so.3, or a limit leaves less than 256 MiB of memory for it.
/// Throws ShapeError unless x is a matrix with D >= 2 and V >= 1.
std::optional<Projection> principal_components(const Tensor<double>& x);

namespace html {

/// Escapes text for an element or a quoted attribute: special characters become entities, invalid
/// UTF-8, control characters and what XML forbids U+FFFD.
std::string escape(std::string_view text);

/// Escapes a long name and allows line breaks after each `after`.
std::string breakable(std::string_view text, char after);

/// Returns a table. `rows[0]` holds the column heads, the first cell of each other row is its head.
/// Cells are already HTML.
std::string table(const std::vector<std::vector<std::string>>& rows);

extern const char* const kStyle;  ///< the style sheet of pages and pictures

std::string uri(const Picture& picture);  ///< returns a picture as a data: URI

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

/// The embeddings (V, D) of all tokens, each a point and a name. Empty if there are fewer than
/// three tokens or two features, or no LAPACK. If inputs are tokens, targets classes, and classes
/// no more than colours, a token has the colour of the class that goes with it most often in the
/// examples, the first of equal ones: that of its own target, or that of the sequence at all
/// tokens.
std::string embeddings_section(const Tensor<double>& embeddings, const TaskShape& shape,
                               const Dataset& examples);

}  // namespace html

}  // namespace xgrad
