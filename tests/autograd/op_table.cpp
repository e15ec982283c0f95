#include "autograd/op_table.hpp"

#include <iterator>

namespace xgrad::test {

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = [] {
    std::vector<OpCase> cases;
    const auto add = [&cases](std::vector<OpCase> family) {
      cases.insert(cases.end(), std::make_move_iterator(family.begin()),
                   std::make_move_iterator(family.end()));
    };
    add(arithmetic_cases());
    add(attention_cases());
    add(dropout_cases());
    add(embedding_cases());
    add(loss_cases());
    add(many_rows_cases());
    add(normalisation_cases());
    add(position_cases());
    add(product_cases());
    add(reduce_cases());
    add(score_cases());
    add(shape_cases());
    add(unary_cases());
    return cases;
  }();
  return all;
}

}  // namespace xgrad::test
