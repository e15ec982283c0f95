// One function a task: its row of the table in tasks.cpp.
#pragma once

#include <xgrad/data/task.hpp>

namespace xgrad {

TaskEntry copy_task();
TaskEntry fashion_mnist_task();
TaskEntry histogram_task();
TaskEntry reverse_task();
TaskEntry rotate_task();
TaskEntry sort_task();

}  // namespace xgrad
