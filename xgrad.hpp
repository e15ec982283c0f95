// Everything that a program which builds, trains and saves a model needs.
#pragma once

#include <xgrad/autograd/nested_list.hpp>
#include <xgrad/autograd/operators.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/models/encoder_model.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/optim/table.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/state_dict.hpp>
#include <xgrad/version.hpp>

/// All that is public.
namespace xgrad {}
