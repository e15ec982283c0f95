// The right answers of every generated task, written independently of the task.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <xgrad/data/options.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

struct OracleRow {
  std::string name;
  Options varied;        // many different examples
  Options few;           // few enough inputs for a test to meet most of them
  std::size_t met = 0;   // at least so many different inputs come up with `few`
  std::string bad_line;  // as the user may type, with the varied options, and what is said then
  std::string complaint;
  /// The targets of an input; null where the answer is drawn together with the input.
  Tokens (*answer)(const Tokens& ids, const Options& options) = nullptr;
  /// The same of inputs that are more than tokens.
  Tokens (*answer_to)(const Example& input, const Options& options) = nullptr;
};

const std::vector<OracleRow>& oracle_rows();
std::vector<OracleRow> structured_rows();  // those whose inputs are more than random tokens
std::vector<OracleRow> cited_rows();       // those that papers define
std::vector<OracleRow> language_rows();    // those that translate
std::vector<OracleRow> other_rows();       // and those whose inputs are more than tokens
void PrintTo(const OracleRow& row, std::ostream* stream);  // of GoogleTest

}  // namespace xgrad
