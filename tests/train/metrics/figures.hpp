// Helpers for tests of metrics: batches with numbers as targets, and figures by their names.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <xgrad/data/batch.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad::test {

/// A row of `values` is a sample, and all of them count.
inline Batch batch_of(const Tensor<double>& values) {
  Batch batch;
  batch.size = values.shape()[0];
  batch.values = cast<float>(values);
  return batch;
}

/// The value that a report gives under a name.
inline Figure figure(const Metrics& metrics, const std::string& name) {
  for (const Figure& each : metrics.figures()) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

}  // namespace xgrad::test
