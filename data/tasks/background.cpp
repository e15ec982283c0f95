#include <xgrad/data/tasks/background.hpp>

#include <algorithm>

namespace xgrad {

namespace {

// In alphabetical order.
constexpr TaskBackground kRows[] = {
    {"addition",
     "needs positions and depth: the carry into a digit depends on all digits below it; a fixed "
     "depth covers the lengths seen in training",
     "Nogueira, Jiang and Lin 2021, arXiv:2102.13019; Lee et al. 2023, arXiv:2307.03381", kCertain},
    {"anomaly",
     "solvable: one layer without positions compares each vector with the mean of the others",
     "the set anomaly detection of Lee et al. 2019 (Set Transformer), arXiv:1810.00825, on "
     "Gaussian vectors",
     kComputed},
    {"ar2", "solvable: the likelihoods are sums of products of adjacent samples",
     "the AR(2) process of Box and Jenkins 1970", kComputed},
    {"bucket_sort",
     "needs positions and depth: the first layer counts smaller tokens, the second places them; "
     "out of length Deletang et al. measured 0.919",
     "Deletang et al. 2023, Neural Networks and the Chomsky Hierarchy, arXiv:2207.02098", kCertain},
    {"cmu", "open: nothing is proven",
     "the Carnegie Mellon Pronouncing Dictionary, as in Debian's festlex-cmu",
     "unknown, because nobody knows the distribution of spellings and sounds, and some words have "
     "several pronunciations"},
    {"copy", "solvable: the residual path carries each token to its output",
     "Rush 2018, The Annotated Transformer", kCertain},
    {"cycle_navigation",
     "not learnable: sums modulo 5 over a sequence; encoders learn shortcuts for the lengths seen "
     "in training (Liu et al. 2023, arXiv:2210.10749), and fail beyond them (Deletang et al. 2023)",
     "Deletang et al. 2023, arXiv:2207.02098", kCertain},
    {"distinct",
     "needs positions: the decoder looks for the first token that it has not written yet",
     "made for xgrad", kCertain},
    {"double_histogram",
     "needs depth: a count of counts needs the counts of another layer (Weiss et al. 2021)",
     "Weiss, Goldberg and Yahav 2021, Thinking Like Transformers, arXiv:2106.06981", kCertain},
    {"dyck",
     "needs positions and depth: two layers suffice for a bounded depth (Yao et al. 2021, "
     "arXiv:2105.11115); no fixed encoder with hard attention is right at all lengths (Hahn 2020, "
     "arXiv:1906.06755)",
     "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981", kCertain},
    {"dyck_nearest",
     "needs positions and depth: two layers of soft attention suffice for any depth bound (Yao et "
     "al. 2021)",
     "Yao et al. 2021, Self-Attention Networks Can Process Bounded Hierarchical Languages, "
     "arXiv:2105.11115",
     kCertain},
    {"even_pairs",
     "needs positions: the number of changes is even exactly if the first and last tokens are "
     "equal, which one layer with two heads compares",
     "Deletang et al. 2023, arXiv:2207.02098", kCertain},
    {"fashion_mnist", "open: nothing is proven", "Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747",
     "unknown, because nobody knows the distribution of the images"},
    {"files", "open: it depends on your data", "your own files",
     "unknown, because nobody knows the distribution that your files come from"},
    {"first",
     "needs positions: one head that attends to the first place suffices, but its weight fades "
     "with the length unless scores grow with log n (Chiang and Cholak 2022)",
     "Chiang and Cholak 2022, arXiv:2202.12172", kCertain},
    {"histogram",
     "solvable: one layer suffices if the width is at least the number of symbols (Yehudai et al. "
     "2024, arXiv:2407.15160)",
     "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981; Behrens, Biggio and Zdeborova 2024, "
     "arXiv:2407.11542",
     kCertain},
    {"hmm", "needs positions: the posterior of a state depends most on its nearest neighbours",
     "the forward-backward algorithm, as in Rabiner 1989", kComputed},
    {"index_lookup",
     "needs positions: one layer suffices with a width that grows with the logarithm of the length"
     " (Bhattamishra et al. 2024)",
     "Bhattamishra et al. 2024, arXiv:2406.09347", kCertain},
    {"induction",
     "needs positions and depth: two layers suffice (Olsson et al. 2022); one layer would have to "
     "be exponentially larger (Sanford, Hsu and Telgarsky 2024, arXiv:2408.14332)",
     "Olsson et al. 2022, arXiv:2209.11895", kCertain},
    {"kjv", "open: nothing is proven", "the King James Bible, as in Debian's bible-kjv",
     "unknown, because nobody knows the distribution of the verses"},
    {"kth_element",
     "needs positions: one head that attends to place k suffices, as for the first place (Chiang "
     "and Cholak 2022, arXiv:2202.12172)",
     "after FIRST of Chiang and Cholak 2022, arXiv:2202.12172", kCertain},
    {"languages", "open: nothing is proven", "Debian's word lists",
     "unknown, because nobody knows the distribution of the words of a language"},
    {"listops",
     "needs positions and depth: about one layer for each level; nesting without a bound is beyond"
     " a fixed depth unless TC0 = NC1 (Merrill and Sabharwal 2023, arXiv:2207.00729)",
     "Nangia and Bowman 2018, arXiv:1804.06028; the Long Range Arena of Tay et al. 2021, "
     "arXiv:2011.04006, reports 0.3637 at lengths from 500 to 2000",
     kCertain},
    {"majority",
     "solvable: one head that attends to all tokens equally (Merrill, Sabharwal and Smith 2022, "
     "arXiv:2106.16213)",
     "Merrill, Sabharwal and Smith 2022, arXiv:2106.16213", kCertain},
    {"markov", "needs positions: a hidden token depends on the nearest visible ones",
     "the masked tokens of Devlin et al. 2019 (BERT), arXiv:1810.04805, on a Markov chain",
     kComputed},
    {"mean_of_marked", "solvable: one head that attends to marked vectors only",
     "after the adding problem of Hochreiter and Schmidhuber 1997", kComputed},
    {"modular_addition",
     "solvable: one layer learns it by trigonometric identities, long after it knows the training "
     "pairs by heart (Nanda et al. 2023, arXiv:2301.05217)",
     "Power et al. 2022, arXiv:2201.02177", kCertain},
    {"most_frequent", "needs depth: one layer counts, the next compares counts (Weiss et al. 2021)",
     "after the sorting by frequency of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981",
     kCertain},
    {"motif",
     "needs depth: one layer with the edges as a mask counts the neighbours, pooling finds the "
     "atom",
     "made for xgrad, after the toxicity of molecules", kCertain},
    {"mqar",
     "needs positions and depth: the first layer binds a value to its key, the second looks the "
     "key up (Arora et al. 2023)",
     "Arora et al. 2023, Zoology, arXiv:2312.04927", kCertain},
    {"needle",
     "needs positions and depth: the first layer looks one token back, the second finds the marker",
     "after the needle in a haystack of Kamradt 2023", kCertain},
    {"negation",
     "needs positions and depth: the first layer finds negated words, the second sums up",
     "made for xgrad", kCertain},
    {"neighbours",
     "needs depth: news travels one edge a layer under an adjacency mask (Gilmer et al. 2017, "
     "arXiv:1704.01212)",
     "the message passing of Gilmer et al. 2017, arXiv:1704.01212", kCertain},
    {"next_value",
     "needs positions: the best guess is linear in the last two samples once the process is known",
     "the AR(2) process of Box and Jenkins 1970", kComputed},
    {"number_words",
     "needs positions and depth: a digit's word depends on its place from the right, so a layer "
     "must find the end of the number first",
     "made for xgrad", kCertain},
    {"odds_first",
     "needs positions: one head that attends to one place suffices at a fixed length; with "
     "variable lengths the place depends on the length",
     "Deletang et al. 2023, arXiv:2207.02098", kCertain},
    {"parity",
     "not learnable: an encoder of two layers exists for all lengths (Chiang and Cholak 2022), but"
     " its weights are isolated, so training finds it only at short lengths (Hahn and Rofin 2024, "
     "arXiv:2402.09963)",
     "Hahn 2020, arXiv:1906.06755; Chiang and Cholak 2022, arXiv:2202.12172", kCertain},
    {"reverse", "needs positions: one head attends to place n + 1 - i (Weiss et al. 2021)",
     "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981", kCertain},
    {"rotate", "needs positions: one head attends to another place (Weiss et al. 2021)",
     "after the select by indices of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981", kCertain},
    {"scan",
     "open: encoders learn random splits; parts held out, such as the verb jump, are hard unless "
     "the architecture helps (Ontanon et al. 2022, arXiv:2108.04378)",
     "Lake and Baroni 2018, arXiv:1711.00350", kCertain},
    {"selective_copy",
     "needs positions and depth: the first layer counts the numbers before each, the second "
     "fetches them",
     "Gu and Dao 2023 (Mamba), arXiv:2312.00752", kCertain},
    {"set_membership",
     "solvable: one head in which equal tokens attract each other; a case of the pair matching "
     "that one layer does (Sanford, Hsu and Telgarsky 2023)",
     "after the pair matching of Sanford, Hsu and Telgarsky 2023, arXiv:2306.02896", kCertain},
    {"shapes", "solvable: one layer over patches",
     "made for xgrad; patches as in Dosovitskiy et al. 2021, arXiv:2010.11929", kCertain},
    {"shuffle_dyck",
     "solvable: one layer with a causal mask counts each kind of brackets (Bhattamishra, Ahuja and"
     " Goyal 2020)",
     "Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264", kCertain},
    {"sort",
     "needs positions and depth: the first layer counts smaller tokens, the second places them "
     "(Weiss et al. 2021)",
     "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981", kCertain},
    {"sort_by_frequency",
     "needs positions and depth: count, compare the counts, place (Weiss et al. 2021, with three "
     "layers)",
     "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981", kCertain},
    {"sparse_parity",
     "needs positions: one layer that attends to the places suffices, and training finds it after "
     "a long plateau (Barak et al. 2022, arXiv:2207.08799)",
     "Bhattamishra et al. 2023, arXiv:2211.12316", kCertain},
    {"stack_manipulation",
     "needs positions and depth: it takes the size of the stack at each push; encoders fail beyond"
     " the lengths seen in training (Deletang et al. 2023)",
     "Deletang et al. 2023, arXiv:2207.02098", kCertain},
    {"tomita",
     "needs positions and depth: languages 1, 2, 4 and 7 are star-free, which masked hard "
     "attention recognises (Yang, Chiang and Angluin 2024, arXiv:2310.13897); 3, 5 and 6 count "
     "modulo 2 or 3 and are not learnable beyond the lengths seen in training (Bhattamishra et al."
     " 2020)",
     "Tomita 1982; Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264", kCertain},
    {"translation",
     "needs positions and depth: a word's place in French depends on the noun that follows it, "
     "which a first layer must find",
     "made for xgrad", kCertain},
    {"wordnet", "open: nothing is proven", "Miller 1995, WordNet, as in Debian's wordnet-base",
     "unknown, because nobody knows the distribution of the definitions"},
};

}  // namespace

const std::vector<std::string>& theory_labels() {
  static const std::vector<std::string> labels = {"solvable",      "needs positions",
                                                  "needs depth",   "needs positions and depth",
                                                  "not learnable", "open"};
  return labels;
}

const TaskBackground* background_of(const std::string& name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const TaskBackground& each) { return each.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace xgrad
