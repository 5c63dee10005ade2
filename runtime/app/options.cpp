#include "runtime/app/options.h"

#include <string.h>

namespace trimtab {
namespace {

bool ParseNumber(const char* text, int64_t least, int64_t most, int64_t* value) {
  int64_t number = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > most) return false;
    number = number * 10 + (*text - '0');
  }
  *value = number;
  return number >= least && number <= most;
}

}  // namespace

const char* ParseOptions(int argc, char** argv, Options* options) {
  struct Number {
    const char* name;
    int64_t least, most;
    int64_t* value;
  };
  const Number numbers[] = {
      {"--threads", 1, 64, &options->threads},
      {"--warmup", 0, 1000000, &options->warmup},
      {"--runs", 1, 1000000, &options->runs},
      {"--min-time-ms", 0, 3600000, &options->min_time_ms},
      {"--max-memory", 1, int64_t{1} << 40, &options->max_memory_bytes},
  };
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (name[0] != '-') {
      if (options->model != nullptr) return "more than one model";
      options->model = name;
      continue;
    }
    if (strcmp(name, "--per-op") == 0) {
      options->per_op = true;
      continue;
    }
    if (strcmp(name, "--markers") == 0) {
      options->markers = true;
      continue;
    }
    if (strcmp(name, "--verify") == 0) {
      options->verify = true;
      continue;
    }
    if (i + 1 == argc) return "an option lacks its value, or is unknown";
    const char* value = argv[++i];
    bool known = true;
    if (strcmp(name, "--input") == 0) {
      if (options->input_count == Options::kMaxInputs) return "too many inputs";
      options->inputs[options->input_count++] = value;
    } else if (strcmp(name, "--output-dir") == 0) {
      options->output_dir = value;
    } else if (strcmp(name, "--counters") == 0) {
      options->counters = value;
    } else if (strcmp(name, "--cores") == 0) {
      options->cores = value;
    } else {
      known = false;
      for (const Number& number : numbers) {
        if (strcmp(name, number.name) != 0) continue;
        known = true;
        if (!ParseNumber(value, number.least, number.most, number.value))
          return "a number is malformed or out of range";
      }
    }
    if (!known) return "unknown option";
  }
  return nullptr;
}

}  // namespace trimtab
