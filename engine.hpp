// The public headers for a program that builds and trains a model: autograd, layers, optimizers.
#pragma once

#include <xgrad/autograd/nested_list.hpp>
#include <xgrad/autograd/operators.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/version.hpp>

/// The namespace of everything public.
namespace xgrad {}
