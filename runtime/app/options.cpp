#include "runtime/app/options.h"

#include <string.h>

namespace trimtab {
namespace {

struct Flag {
  const char* name;
  bool Options::* value;
};
struct Word {
  const char* name;
  const char* Options::* value;
};
struct Number {
  const char* name;
  int64_t Options::* value;
  int64_t min, max;
};

constexpr Flag kFlags[] = {
    {"--per-op", &Options::per_op},
    {"--markers", &Options::markers},
    {"--trust", &Options::trust},
};
constexpr Word kWords[] = {
    {"--output-dir", &Options::output_dir},
    {"--counters", &Options::counters},
    {"--cores", &Options::cores},
#if TRIMTAB_TRAIN
    {"--train", &Options::train},
#endif
};
constexpr Number kNumbers[] = {
    {"--threads", &Options::threads, 1, 64},
    {"--warmup", &Options::warmup, 0, 1000000},
    {"--runs", &Options::runs, 1, 1000000},
    {"--min-time-ms", &Options::min_time_ms, 0, 3600000},
#if TRIMTAB_PACED
    {"--period-us", &Options::period_us, 1000, 60000000},
#endif
    {"--max-memory", &Options::max_memory_bytes, 1, int64_t{1} << 40},
#if TRIMTAB_TRAIN
    {"--save-every", &Options::save_every, 1, 1000000},
#endif
};

// Null if no option of `known` has this name.
template <typename Option, size_t kCount>
const Option* Find(const Option (&known)[kCount], const char* name) {
  for (const Option& option : known) {
    if (strcmp(option.name, name) == 0) return &option;
  }
  return nullptr;
}

bool ParseNumber(const char* text, const Number& option, int64_t* value) {
  int64_t number = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > option.max) return false;
    number = number * 10 + (*text - '0');
  }
  *value = number;
  return number >= option.min && number <= option.max;
}

}  // namespace

const char* ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (name[0] != '-') {
      if (options->model != nullptr) return "more than one model";
      options->model = name;
      continue;
    }
    if (const Flag* flag = Find(kFlags, name)) {
      options->*flag->value = true;
      continue;
    }
    if (i + 1 == argc) return "an option lacks its value, or is unknown";
    const char* value = argv[++i];
    if (strcmp(name, "--input") == 0) {
      if (options->input_count == Options::kMaxInputs) return "too many inputs";
      options->inputs[options->input_count++] = value;
#if TRIMTAB_FRAMES
    } else if (strcmp(name, "--image") == 0) {
      if (options->input_count == Options::kMaxInputs) return "too many inputs";
      options->is_image[options->input_count] = true;
      options->inputs[options->input_count++] = value;
#endif
#if TRIMTAB_RUN_TIME_OPERATORS
    } else if (strcmp(name, "--plugin") == 0) {
      if (options->plugin_count == Options::kMaxPlugins) return "too many plug-ins";
      options->plugins[options->plugin_count++] = value;
#endif
    } else if (const Word* word = Find(kWords, name)) {
      options->*word->value = value;
    } else if (const Number* number = Find(kNumbers, name)) {
      if (!ParseNumber(value, *number, &(options->*number->value)))
        return "a number is malformed or out of range";
    } else {
      return "unknown option";
    }
  }
  return nullptr;
}

}  // namespace trimtab
