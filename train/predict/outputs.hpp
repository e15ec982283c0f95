// The outputs that a decoder reads: greedily decoded ones, or given ones.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/models/generate.hpp>

namespace xgrad {

/// Decodes the outputs of a batch of examples greedily.
template <class T>
std::vector<Generated<T>> decode(const SequenceModel<T>& model,
                                 const std::vector<Example>& examples, const TaskShape& shape);

/// Gives the examples the targets that the decoder reads when it is looked into, whatever targets
/// they had: `outputs`, one line of class names (or numbers) without the end class for each
/// example; or, if there are none, the outputs that the model decodes greedily, those of
/// `xgrad predict`. Does nothing if the model generates no outputs. Throws ConfigError for outputs
/// that such a model cannot read, DataError for outputs that do not fit.
template <class T>
void set_outputs(const SequenceModel<T>& model, const TaskShape& shape,
                 const std::vector<std::string>& outputs, std::vector<Example>& examples);

}  // namespace xgrad
