// Replaces the fuzzer: runs a target on files, or on all files of folders. `replay_TARGET PATH...`
// prints their number.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int Replay(const char* path) {
  if (DIR* const folder = opendir(path)) {
    int count = 0;
    while (const dirent* entry = readdir(folder)) {
      if (entry->d_name[0] == '.') continue;
      char inner[4096];
      snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
      count += Replay(inner);
    }
    closedir(folder);
    return count;
  }
  FILE* const file = fopen(path, "rb");
  if (file == nullptr) {
    perror(path);
    exit(1);
  }
  // Exactly as large as the file, so that sanitizers detect reads past its end.
  struct stat facts = {};
  if (fstat(fileno(file), &facts) != 0) exit(1);
  const auto size = static_cast<size_t>(facts.st_size);
  auto* const bytes = static_cast<uint8_t*>(malloc(size > 0 ? size : 1));
  if (bytes == nullptr || fread(bytes, 1, size, file) != size) exit(1);
  fclose(file);
  fprintf(stderr, "%s\n", path);  // the last line names the file that crashed
  LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) count += Replay(argv[i]);
  printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
