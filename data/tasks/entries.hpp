// One function per task: its entry in the table of table.cpp.
#pragma once

#include <xgrad/data/task.hpp>

namespace xgrad {

TaskEntry addition_task();
TaskEntry anomaly_task();
TaskEntry ar2_task();
TaskEntry bucket_sort_task();
TaskEntry cmu_task();
TaskEntry copy_task();
TaskEntry cycle_navigation_task();
TaskEntry distinct_task();
TaskEntry double_histogram_task();
TaskEntry dyck_task();
TaskEntry dyck_nearest_task();
TaskEntry even_pairs_task();
TaskEntry fashion_mnist_task();
TaskEntry files_task();
TaskEntry first_task();
TaskEntry histogram_task();
TaskEntry hmm_task();
TaskEntry index_lookup_task();
TaskEntry induction_task();
TaskEntry kjv_task();
TaskEntry kth_element_task();
TaskEntry languages_task();
TaskEntry listops_task();
TaskEntry majority_task();
TaskEntry markov_task();
TaskEntry mean_of_marked_task();
TaskEntry modular_addition_task();
TaskEntry most_frequent_task();
TaskEntry motif_task();
TaskEntry mqar_task();
TaskEntry needle_task();
TaskEntry negation_task();
TaskEntry neighbours_task();
TaskEntry next_value_task();
TaskEntry number_words_task();
TaskEntry odds_first_task();
TaskEntry parity_task();
TaskEntry reverse_task();
TaskEntry rotate_task();
TaskEntry scan_task();
TaskEntry selective_copy_task();
TaskEntry set_membership_task();
TaskEntry shapes_task();
TaskEntry shuffle_dyck_task();
TaskEntry sort_task();
TaskEntry sort_by_frequency_task();
TaskEntry sparse_parity_task();
TaskEntry stack_manipulation_task();
TaskEntry tomita_task();
TaskEntry translation_task();
TaskEntry wordnet_task();

}  // namespace xgrad
