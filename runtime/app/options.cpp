#include "runtime/app/options.h"

#include <stddef.h>
#include <string.h>

#include "runtime/app/json_line.h"

namespace trimtab {
namespace {

enum class Kind : uint8_t { kFlag, kText, kNumber, kFiles, kImages };

struct Option {
  const char* name;
  int64_t max;   // of a number
  uint16_t min;  // of a number
  uint16_t at;   // offset of its value in Options
  Kind kind;
};

#define AT(field) static_cast<uint16_t>(offsetof(Options, field))

constexpr Option kOptions[] = {
    {"--input", 0, 0, AT(inputs), Kind::kFiles},
#if TRIMTAB_FRAMES
    {"--image", 0, 0, AT(inputs), Kind::kImages},
#endif
#if TRIMTAB_RUN_TIME_OPERATORS
    {"--plugin", 0, 0, AT(plugins), Kind::kFiles},
#endif
    {"--output-dir", 0, 0, AT(output_dir), Kind::kText},
    {"--threads", 64, 1, AT(threads), Kind::kNumber},
    {"--cores", 0, 0, AT(cores), Kind::kText},
    {"--warmup", 1000000, 0, AT(warmup), Kind::kNumber},
    {"--runs", 1000000, 1, AT(runs), Kind::kNumber},
    {"--min-time-ms", 3600000, 0, AT(min_time_ms), Kind::kNumber},
#if TRIMTAB_PACED
    {"--period-us", 60000000, 1000, AT(period_us), Kind::kNumber},
#endif
    {"--max-memory", int64_t{1} << 40, 1, AT(max_memory_bytes), Kind::kNumber},
    {"--per-op", 0, 0, AT(per_op), Kind::kFlag},
    {"--counters", 0, 0, AT(counters), Kind::kText},
    {"--markers", 0, 0, AT(markers), Kind::kFlag},
    {"--trust", 0, 0, AT(trust), Kind::kFlag},
#if TRIMTAB_TRAIN
    {"--train", 0, 0, AT(train), Kind::kText},
    {"--save-every", 1000000, 1, AT(save_every), Kind::kNumber},
#endif
#if TRIMTAB_TENSORS
    {"--tensors", 0, 0, AT(tensors), Kind::kText},
    {"--tensors-from", 1000000, 0, AT(tensors_from), Kind::kNumber},
    {"--tensors-bytes", int64_t{1} << 40, 1, AT(tensors_bytes), Kind::kNumber},
#endif
    {"--help", 0, 0, AT(help), Kind::kFlag},
};

#undef AT

const Option* Find(const char* name) {
  for (const Option& option : kOptions) {
    if (strcmp(option.name, name) == 0) return &option;
  }
  return nullptr;
}

bool ParseNumber(const char* text, const Option& option, int64_t* value) {
  int64_t number = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > option.max) return false;
    number = number * 10 + (*text - '0');
  }
  *value = number;
  return number >= option.min && number <= option.max;
}

// False for too many files.
bool AddFile(const char* path, const Option& option, Files* files) {
  if (files->count == Files::kMax) return false;
#if TRIMTAB_FRAMES
  files->is_image[files->count] = option.kind == Kind::kImages;
#else
  static_cast<void>(option);
#endif
  files->paths[files->count++] = path;
  return true;
}

bool SetValue(const char* text, const Option& option, Options* options) {
  void* const value = reinterpret_cast<char*>(options) + option.at;
  if (option.kind == Kind::kNumber) return ParseNumber(text, option, static_cast<int64_t*>(value));
  if (option.kind != Kind::kText) return AddFile(text, option, static_cast<Files*>(value));
  *static_cast<const char**>(value) = text;
  return true;
}

}  // namespace

const char* ParseOptions(int argc, char** argv, Options* options) {
  static char message[128];
  const char* wrong = nullptr;
  int i = 1;
  for (; i < argc && wrong == nullptr; ++i) {
    const char* const name = argv[i];
    if (name[0] != '-') {
      if (options->model != nullptr) return "more than one model";
      options->model = name;
      continue;
    }
    const Option* const option = Find(name);
    if (option == nullptr) {
      wrong = "--help lists the options; unknown is";
    } else if (option->kind == Kind::kFlag) {
      *(reinterpret_cast<char*>(options) + option->at) = 1;
      continue;
    } else if (i + 1 == argc) {
      wrong = "no value for";
    } else if (SetValue(argv[++i], *option, options)) {
      continue;
    } else {
      wrong = "a number is malformed or out of range, or there are too many files, for";
    }
    Text(message, sizeof(message)).Add(wrong).Add(" ").Add(name);
  }
  return wrong == nullptr ? nullptr : message;
}

void WriteHelp() {
  static const char* const kValues[] = {"", " TEXT", " N", " FILE", " FILE"};
  char buffer[512];
  Text help(buffer, sizeof(buffer));
  help.Add("trimtab-run [MODEL.ttm]");
  for (const Option& option : kOptions)
    help.Add("  ").Add(option.name).Add(kValues[static_cast<int>(option.kind)]);
  help.Put('\n');
  JsonLine::WriteAll(1, buffer, help.length());
}

}  // namespace trimtab
