// Tasks about sentences that a grammar makes.
#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

enum class Kind { article, adjective, noun, verb, negation };

// An English word and its French: for articles and adjectives one word for each gender.
struct Word {
  Kind kind;
  std::string english, masculine;
  std::string feminine;  // for nouns: empty, or "f" if the noun is feminine
};

// All words. The index of a word is the id of its English form.
const std::vector<Word>& lexicon() {
  static const std::vector<Word> all = [] {
    std::vector<Word> list;
    const auto add = [&](Kind kind, const std::vector<std::string>& entries) {
      for (const std::string& entry : entries) {
        auto parts = words(entry);
        parts.resize(3);
        list.push_back({kind, std::string(parts[0]), std::string(parts[1]), std::string(parts[2])});
      }
    };
    add(Kind::article, {"the le la", "a un une", "this ce cette"});
    add(Kind::adjective,
        {"red rouge rouge", "green vert verte", "black noir noire", "white blanc blanche",
         "round rond ronde", "heavy lourd lourde", "empty vide vide", "soft doux douce"});
    add(Kind::noun, {"cat chat", "dog chien", "horse cheval", "garden jardin", "book livre",
                     "hat chapeau", "house maison f", "door porte f", "table table f",
                     "car voiture f", "flower fleur f", "chair chaise f"});
    add(Kind::verb,
        {"sees voit", "wants veut", "finds trouve", "likes aime", "loses perd", "draws dessine"});
    add(Kind::negation, {"never jamais", "hardly gu\u00e8re"});
    return list;
  }();
  return all;
}

std::vector<std::int32_t> words_of(Kind kind) {
  std::vector<std::int32_t> ids;
  for (std::size_t id = 0; id < lexicon().size(); ++id) {
    if (lexicon()[id].kind == kind) ids.push_back(std::int32_t(id));
  }
  return ids;
}

// The French words, each once, then the end.
const std::vector<std::string>& french() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list = {"ne"};
    const auto add = [&](const std::string& word) {
      if (std::ranges::find(list, word) == list.end()) list.push_back(word);
    };
    for (const Word& word : lexicon()) {
      add(word.masculine);
      if (word.kind == Kind::article || word.kind == Kind::adjective) add(word.feminine);
    }
    add("end");
    return list;
  }();
  return all;
}

// Reads a sentence from the left and translates it: article adjectives noun [negation] verb article
// adjectives noun.
Tokens translate(const Tokens& ids, std::size_t most_adjectives) {
  std::size_t at = 0;
  Tokens result;
  const auto check_that = [](bool good) {
    check<DataError>(good, "expected a sentence such as: the red cat never sees a dog");
  };
  const auto is = [&](Kind kind) {
    return at < ids.size() && lexicon()[std::size_t(ids[at])].kind == kind;
  };
  const auto take = [&](Kind kind) -> const Word& {
    check_that(is(kind));
    return lexicon()[std::size_t(ids[at++])];
  };
  const auto write = [&](const std::string& word) {
    result.push_back(std::int32_t(std::ranges::find(french(), word) - french().begin()));
  };
  // Articles and adjectives agree with the noun. Adjectives follow it, the last one first.
  const auto noun_phrase = [&] {
    const Word& article = take(Kind::article);
    std::vector<const Word*> adjectives;
    while (is(Kind::adjective)) adjectives.push_back(&take(Kind::adjective));
    check<DataError>(adjectives.size() <= most_adjectives, "expected at most ", most_adjectives,
                     " adjectives before a noun, got ", adjectives.size());
    const Word& noun = take(Kind::noun);
    const auto agreeing = noun.feminine.empty() ? &Word::masculine : &Word::feminine;
    write(article.*agreeing);
    write(noun.masculine);
    for (auto word = adjectives.rbegin(); word != adjectives.rend(); ++word) {
      write((*word)->*agreeing);
    }
  };
  noun_phrase();
  const Word* const negation = is(Kind::negation) ? &take(Kind::negation) : nullptr;
  if (negation) write("ne");
  write(take(Kind::verb).masculine);
  if (negation) write(negation->masculine);
  noun_phrase();
  check_that(at == ids.size());
  write("end");
  return result;
}

// Ids: the word "not", then eight positive, eight negative and eight plain words.
constexpr std::int32_t kNot = 0, kGroup = 8;

// Class of the sum of polarities, each reversed if the word before it is "not".
Tokens sentiment(const Tokens& ids) {
  constexpr std::int32_t kPolarity[] = {1, -1, 0};  // of each group
  std::int32_t score = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNot) continue;
    const bool is_negated = i > 0 && ids[i - 1] == kNot;
    score += kPolarity[(ids[i] - 1) / kGroup] * (is_negated ? -1 : 1);
  }
  return {score < 0 ? 0 : score == 0 ? 1 : 2};
}

// Out of five words, one is "not", one positive, one negative, and two are plain on average.
Example draw_words(const Rng& rng, std::size_t length) {
  const Tokens kinds = random_tokens(rng / "kind", length, 5);
  const Tokens indices = random_tokens(rng / "word", length, kGroup);
  Example example;
  for (std::size_t i = 0; i < length; ++i) {
    const std::int32_t group = std::min(kinds[i], 2);
    example.ids.push_back(kinds[i] == 4 ? kNot : 1 + group * kGroup + indices[i]);
  }
  return example;
}

}  // namespace

extern const std::vector<TaskEntry> kSentenceTasks = {
    synthetic_task(
        {.name = "translation",
         .summary =
             "Translate generated English sentences into French, with its word order and genders.",
         .options = {{"adjectives", 2, "Maximum number of adjectives before a noun.", 0, 64}},
         .needs = "Positions, and an encoder and a decoder of two layers: words change places, and "
                  "articles and adjectives agree with a noun that comes after them in English.",
         .theory = "needs positions and depth: a word's place in French depends on the noun after "
                   "it, so a first layer must find this noun",
         .source = "made for xgrad"},
        [](const Options& options, Synthetic& task) {
          const auto adjectives = get_size(options, "adjectives");
          task.shape.output = OutputKind::generated;
          for (const Word& word : lexicon()) task.shape.token_names.push_back(word.english);
          task.shape.max_length = 2 * (adjectives + 2) + 2;
          task.shape.class_names = french();
          task.shape.max_outputs = task.shape.max_length + 2;  // "ne" and the end class
          task.draw = [adjectives](const Rng& rng) {
            Example example;
            std::uint32_t drawn = 0;
            const auto number = [&](std::size_t below) { return rng.below(below, drawn++); };
            const auto add = [&](Kind kind) {
              const std::vector<std::int32_t> words = words_of(kind);
              example.ids.push_back(words[number(words.size())]);
            };
            const auto add_noun_phrase = [&] {
              add(Kind::article);
              for (std::size_t count = number(adjectives + 1); count > 0; --count)
                add(Kind::adjective);
              add(Kind::noun);
            };
            add_noun_phrase();
            if (number(2) == 0) add(Kind::negation);
            add(Kind::verb);
            add_noun_phrase();
            return example;
          };
          task.solve = [adjectives](const Tokens& ids) { return translate(ids, adjectives); };
        }),
    synthetic_task(
        {.name = "negation",
         .summary = "Say whether good words, bad words or neither prevail; \"not\" reverses the "
                    "next word.",
         .options = length_options(10),
         .needs = "Positions and two layers: the first finds negated words, the second sums up.",
         .theory =
             "needs positions and depth: the first layer finds negated words, the second sums up",
         .source = "made for xgrad"},
        [](const Options& options, Synthetic& task) {
          task.shape.output = OutputKind::sequence;
          task.shape.class_names = {"negative", "neutral", "positive"};
          task.shape.token_names = {
              "not",   "good", "great", "lovely", "clever", "bright", "warm",   "funny", "moving",
              "bad",   "poor", "awful", "dull",   "silly",  "weak",   "boring", "flat",  "the",
              "movie", "plot", "is",    "and",    "scene",  "actor",  "very"};
          draw_lengths(task, Lengths(options), draw_words);
          task.solve = sentiment;
        })};

}  // namespace xgrad
