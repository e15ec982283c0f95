// The public headers for a program that builds, trains and saves a model.
#pragma once

#include <xgrad/data/loader.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/engine.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>
