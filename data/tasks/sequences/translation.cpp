#include <algorithm>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

enum class Kind { article, adjective, noun, verb, negation };

// An English word and its French: for articles and adjectives one word for each gender.
struct Word {
  Kind kind;
  const char* english;
  const char* masculine;
  const char* feminine;  // for nouns: empty, or "f" if the noun is feminine
};

constexpr Word kWords[] = {
    {Kind::article, "the", "le", "la"},
    {Kind::article, "a", "un", "une"},
    {Kind::article, "this", "ce", "cette"},
    {Kind::adjective, "red", "rouge", "rouge"},
    {Kind::adjective, "green", "vert", "verte"},
    {Kind::adjective, "black", "noir", "noire"},
    {Kind::adjective, "white", "blanc", "blanche"},
    {Kind::adjective, "round", "rond", "ronde"},
    {Kind::adjective, "heavy", "lourd", "lourde"},
    {Kind::adjective, "empty", "vide", "vide"},
    {Kind::adjective, "soft", "doux", "douce"},
    {Kind::noun, "cat", "chat", ""},
    {Kind::noun, "dog", "chien", ""},
    {Kind::noun, "horse", "cheval", ""},
    {Kind::noun, "garden", "jardin", ""},
    {Kind::noun, "book", "livre", ""},
    {Kind::noun, "hat", "chapeau", ""},
    {Kind::noun, "house", "maison", "f"},
    {Kind::noun, "door", "porte", "f"},
    {Kind::noun, "table", "table", "f"},
    {Kind::noun, "car", "voiture", "f"},
    {Kind::noun, "flower", "fleur", "f"},
    {Kind::noun, "chair", "chaise", "f"},
    {Kind::verb, "sees", "voit", ""},
    {Kind::verb, "wants", "veut", ""},
    {Kind::verb, "finds", "trouve", ""},
    {Kind::verb, "likes", "aime", ""},
    {Kind::verb, "loses", "perd", ""},
    {Kind::verb, "draws", "dessine", ""},
    {Kind::negation, "never", "jamais", ""},
    {Kind::negation, "hardly", "gu\u00e8re", ""},
};
constexpr auto kSize = std::int32_t(std::size(kWords));

std::vector<std::int32_t> words_of(Kind kind) {
  std::vector<std::int32_t> words;
  for (std::int32_t id = 0; id < kSize; ++id) {
    if (kWords[id].kind == kind) words.push_back(id);
  }
  return words;
}

// The French words, each once, then the end.
const std::vector<std::string>& french() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"ne"};
    const auto add = [&](const std::string& word) {
      if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
    };
    for (const Word& word : kWords) {
      add(word.masculine);
      if (word.kind == Kind::article || word.kind == Kind::adjective) add(word.feminine);
    }
    add("end");
    return all;
  }();
  return words;
}

std::int32_t french_id(const std::string& word) {
  const auto& words = french();
  return std::int32_t(std::find(words.begin(), words.end(), word) - words.begin());
}

// Reads a sentence from the left and translates it.
class Translator {
 public:
  Translator(const Tokens& ids, std::size_t adjectives) : ids_(ids), adjectives_(adjectives) {}

  // article adjectives noun [negation] verb article adjectives noun
  Tokens sentence() {
    noun_phrase();
    const std::int32_t negation = is(Kind::negation) ? take(Kind::negation) : -1;
    if (negation >= 0) write("ne");
    write(kWords[take(Kind::verb)].masculine);
    if (negation >= 0) write(kWords[negation].masculine);
    noun_phrase();
    check<DataError>(at_ == ids_.size(), kExpected);
    write("end");
    return result_;
  }

 private:
  static constexpr const char* kExpected =
      "expected a sentence such as: the red cat never sees a dog";

  bool is(Kind kind) const { return at_ < ids_.size() && kWords[ids_[at_]].kind == kind; }
  std::int32_t take(Kind kind) {
    check<DataError>(is(kind), kExpected);
    return ids_[at_++];
  }
  void write(const char* word) { result_.push_back(french_id(word)); }

  // Articles and adjectives agree with the noun. Adjectives follow it, the last one first.
  void noun_phrase() {
    const Word& article = kWords[take(Kind::article)];
    std::vector<const Word*> adjectives;
    while (is(Kind::adjective)) adjectives.push_back(&kWords[take(Kind::adjective)]);
    check<DataError>(adjectives.size() <= adjectives_, "expected at most ", adjectives_,
                     " adjectives before a noun, got ", adjectives.size());
    const Word& noun = kWords[take(Kind::noun)];
    const bool feminine = *noun.feminine != '\0';
    write(feminine ? article.feminine : article.masculine);
    write(noun.masculine);
    for (auto word = adjectives.rbegin(); word != adjectives.rend(); ++word) {
      write(feminine ? (*word)->feminine : (*word)->masculine);
    }
  }

  const Tokens& ids_;
  std::size_t adjectives_, at_ = 0;
  Tokens result_;
};

Synthetic describe(const Options& options) {
  const auto adjectives = get_size(options, "adjectives");
  Synthetic task;
  task.shape.output = OutputKind::generated;
  for (const Word& word : kWords) task.shape.token_names.emplace_back(word.english);
  task.shape.max_length = 2 * (adjectives + 2) + 2;
  task.shape.class_names = french();
  task.shape.max_outputs = task.shape.max_length + 2;  // ne, and the end
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
      for (std::size_t count = number(adjectives + 1); count > 0; --count) add(Kind::adjective);
      add(Kind::noun);
    };
    add_noun_phrase();
    if (number(2) == 0) add(Kind::negation);
    add(Kind::verb);
    add_noun_phrase();
    return example;
  };
  task.solve = [adjectives](const Tokens& ids) { return Translator(ids, adjectives).sentence(); };
  return task;
}

}  // namespace

TaskEntry translation_task() {
  return synthetic_task(
      {.name = "translation",
       .summary =
           "Translate made-up English sentences into French, with its word order and genders.",
       .options = {{"adjectives", 2, "Most adjectives before a noun.", 0, 64}},
       .needs = "Positions, and an encoder and a decoder of two layers: words change places, and "
                "articles and adjectives agree with a noun that comes after them in English.",
       .theory = "needs positions and depth: a word's place in French depends on the noun that "
                 "follows it, which a first layer must find",
       .source = "made for xgrad"},
      describe);
}

}  // namespace xgrad
