// Makes every allocation of the engine fail in turn: the result must be an error, without a leak,
// and a failed resize must leave the model as it was.
//
//   check_memory MODEL.ttm ...
//
// The functions that the engine allocates with are defined here: a program's own functions override
// those of the C library. Each model is opened, run, resized there and back, run and closed, once
// to count the allocations, then once per allocation that fails, alone or with all later ones.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/api/trimtab.h"

namespace {

constexpr int kThreads = 3;
constexpr int kMaxLive = 256;

struct Allocations {
  bool watched = false;
  int count = 0;
  int fails = -1;          // index of the failing allocation; -1: none
  bool and_after = false;  // all later ones, too
  bool has_failed = false;
  void* live[kMaxLive];
  int live_count = 0;

  // True if the next allocation must fail.
  bool Next() {
    if (!watched) return false;
    const int number = count++;
    const bool now = fails >= 0 && (number == fails || (and_after && number > fails));
    has_failed |= now;
    return now;
  }

  void Add(void* memory) {
    if (!watched) return;
    if (live_count == kMaxLive) abort();
    live[live_count++] = memory;
  }

  void Remove(void* memory) {
    for (int i = 0; i < live_count; ++i) {
      if (live[i] != memory) continue;
      live[i] = live[--live_count];
      return;
    }
  }
} allocations;

}  // namespace

extern "C" void* mmap(void* place, size_t size, int protection, int flags, int file, off_t offset) {
  if (allocations.Next()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const long found = syscall(SYS_mmap, place, size, protection, flags, file, offset);
  // The kernel returns the address as an integer; -1 is MAP_FAILED.
  auto* const memory = reinterpret_cast<void*>(found);  // NOLINT(performance-no-int-to-ptr)
  if (memory != MAP_FAILED) allocations.Add(memory);
  return memory;
}

extern "C" int munmap(void* memory, size_t size) {
  allocations.Remove(memory);
  return static_cast<int>(syscall(SYS_munmap, memory, size));
}

extern "C" int pthread_create(pthread_t* handle, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (allocations.Next()) return EAGAIN;
  return create(handle, attributes, work, argument);
}

#if defined(__SANITIZE_ADDRESS__)
// The engine's allocator under a sanitizer, which reports leaks itself.
extern "C" int posix_memalign(void** memory, size_t alignment, size_t size) {
  using Take = int (*)(void**, size_t, size_t);
  static const auto take = reinterpret_cast<Take>(dlsym(RTLD_NEXT, "posix_memalign"));
  return allocations.Next() ? ENOMEM : take(memory, alignment, size);
}
#endif

namespace {

constexpr size_t kMaxInputs = 8, kMaxInputBytes = size_t{1} << 20;
alignas(64) unsigned char input_bytes[kMaxInputs][kMaxInputBytes];
int failures = 0, resized = 0;

void Wrong(const char* model, const char* what) {
  printf("%s: allocation %d%s: %s\n", model, allocations.fails,
         allocations.and_after ? " and all after it" : "", what);
  ++failures;
}

// Counts and fails allocations during its lifetime.
struct Watch {
  Watch() { allocations.watched = true; }
  ~Watch() { allocations.watched = false; }
};

bool SetInputs(trimtab_model* model) {
  const uint32_t count = trimtab_input_count(model);
  for (uint32_t i = 0; i < count; ++i) {
    trimtab_tensor input;
    trimtab_input(model, i, &input);
    if (i >= kMaxInputs || input.bytes > kMaxInputBytes) return false;
    if (trimtab_set_input(model, i, input_bytes[i], input.bytes) != TRIMTAB_OK) return false;
  }
  return true;
}

// FNV-1a.
class Hash {
 public:
  void Add(const void* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i)
      value_ = (value_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001B3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

// A hash of all sizes that a model reports, and of its memory use.
uint64_t Sizes(trimtab_model* model) {
  Hash hash;
  const auto add = [&](int (*describe)(const trimtab_model*, uint32_t, trimtab_tensor*),
                       uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      trimtab_tensor tensor = {};
      if (describe(model, i, &tensor) != TRIMTAB_OK) Wrong("", "a tensor is not described");
      hash.Add(tensor.dims, static_cast<size_t>(tensor.rank) * sizeof(*tensor.dims));
      hash.Add(&tensor.bytes, sizeof(tensor.bytes));
    }
  };
  add(trimtab_input, trimtab_input_count(model));
  add(trimtab_output, trimtab_output_count(model));
  trimtab_memory memory = {};
  trimtab_memory_use(model, &memory);
  hash.Add(&memory.arena_bytes, sizeof(memory.arena_bytes));
  return hash.value();
}

// A hash of all outputs; 0 when the run fails.
uint64_t Results(trimtab_model* model) {
  {
    const Watch watch;
    const int before = allocations.count;
    const bool is_done = trimtab_run(model) == TRIMTAB_OK;
    if (allocations.count != before) Wrong("", "running takes memory");
    if (!is_done) return 0;
  }
  Hash hash;
  for (uint32_t i = 0; i < trimtab_output_count(model); ++i) {
    trimtab_tensor output;
    trimtab_output(model, i, &output);
    hash.Add(output.data, output.bytes);
  }
  return hash.value();
}

// Returns the code of a resize to `factor` times as many images.
int Resize(trimtab_model* model, const trimtab_tensor& original, int factor) {
  int32_t dims[8];
  memcpy(dims, original.dims, sizeof(dims));
  if (original.rank > 0) dims[0] *= factor;
  const Watch watch;
  return trimtab_resize_input(model, 0, dims, original.rank);
}

// The behavior of a model without failures.
struct Expected {
  uint64_t results = 0, resized_results = 0;
  int resized = 0;  // code of the resize, which not every network supports
};

void TryResizing(const char* name, trimtab_model* model, Expected* expected) {
  trimtab_tensor original;
  if (trimtab_input(model, 0, &original) != TRIMTAB_OK) return;
  const bool had_failed = allocations.has_failed;
  const uint64_t sizes = Sizes(model);
  const int code = Resize(model, original, 4);
  const bool fails = allocations.has_failed && !had_failed;
  if (allocations.fails < 0) expected->resized = code;
  if (fails) {
    if (code != TRIMTAB_OUT_OF_MEMORY) Wrong(name, "a resize without memory is no such error");
    if (Sizes(model) != sizes) Wrong(name, "a failed resize changed the sizes");
    if (Results(model) != expected->results) Wrong(name, "a failed resize changed the results");
    return;
  }
  if (code != expected->resized) Wrong(name, "a resize ends otherwise");
  if (code != TRIMTAB_OK || !SetInputs(model)) return;
  const uint64_t resized = Results(model), larger = Sizes(model);
  if (allocations.fails < 0) expected->resized_results = resized;
  if (resized != expected->resized_results) Wrong(name, "other results after a resize");
  const int back = Resize(model, original, 1);
  if (back == TRIMTAB_OUT_OF_MEMORY) {
    if (!allocations.has_failed) Wrong(name, "no memory for no reason");
    if (Sizes(model) != larger) Wrong(name, "a failed resize back changed the sizes");
    if (Results(model) != resized) Wrong(name, "a failed resize back changed the results");
  } else if (back != TRIMTAB_OK || !SetInputs(model) || Results(model) != expected->results) {
    Wrong(name, "not as it was after a resize there and back");
  }
}

// One life of a model, with the failures of `allocations`.
void Live(const char* name, const void* bytes, size_t size, Expected* expected) {
  trimtab_options options = {};
  options.threads = kThreads;
  trimtab_model* model = nullptr;
  char why[256] = "";
  allocations.count = 0;
  allocations.has_failed = false;
  int code;
  {
    const Watch watch;
    code = bytes == nullptr ? trimtab_open_file(name, &options, &model, why, sizeof(why))
                            : trimtab_open_memory(bytes, size, &options, &model, why, sizeof(why));
  }
  if (code != TRIMTAB_OK) {
    const bool is_told = code == TRIMTAB_OUT_OF_MEMORY && why[0] != '\0' && model == nullptr;
    if (!allocations.has_failed || !is_told) Wrong(name, why);
  } else {
    if (allocations.has_failed) Wrong(name, "opens although memory lacks");
    if (SetInputs(model)) {
      const uint64_t results = Results(model);
      if (allocations.fails < 0) expected->results = results;
      if (results != expected->results) Wrong(name, "other results");
      TryResizing(name, model, expected);
    }
    const Watch watch;
    trimtab_close(model);
  }
  if (allocations.live_count != 0) Wrong(name, "memory is left");
  allocations.live_count = 0;
}

int Check(const char* name, const void* bytes, size_t size) {
  Expected expected;
  allocations.fails = -1;
  allocations.and_after = false;
  Live(name, bytes, size, &expected);
  const int count = allocations.count;
  if (expected.resized_results != 0) ++resized;
  for (int number = 0; number < count; ++number) {
    for (int way = 0; way < 2; ++way) {
      allocations.fails = number;
      allocations.and_after = way == 1;
      Live(name, bytes, size, &expected);
      if (!allocations.has_failed) Wrong(name, "the allocation was not there again");
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  // Floats from 0.5 to 1, all different, so that no two images are equal.
  uint32_t random = 1;
  for (auto& bytes : input_bytes) {
    for (size_t i = 0; i < kMaxInputBytes; ++i) {
      random = random * 1664525 + 1013904223;
      bytes[i] = i % 4 == 3 ? 0x3f : i % 4 == 2 ? random >> 25 : 0;
    }
  }
  int checked = 0;
  for (int i = 1; i < argc; ++i) {
    checked += Check(argv[i], nullptr, 0);
    FILE* const file = fopen(argv[i], "rb");
    if (file == nullptr || fseek(file, 0, SEEK_END) != 0) return 2;
    const auto size = static_cast<size_t>(ftell(file));
    if (fseek(file, 0, SEEK_SET) != 0) return 2;
    void* const bytes = aligned_alloc(64, (size + 63) / 64 * 64);
    if (bytes == nullptr || fread(bytes, 1, size, file) != size) return 2;
    fclose(file);
    checked += Check(argv[i], bytes, size);
    free(bytes);
  }
  printf("%d allocations of %d models, %d times resized\n", checked, argc - 1, resized);
  return failures == 0 ? 0 : 1;
}
