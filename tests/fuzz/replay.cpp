// Stands for the fuzzer where there is none: runs a target on files, or on all files of folders.
// `replay_TARGET PATH...` prints how many there were.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  auto* const bytes = static_cast<uint8_t*>(malloc(static_cast<size_t>(size) + 1));
  if (bytes == nullptr || fread(bytes, 1, static_cast<size_t>(size), file) != size_t(size)) exit(1);
  fclose(file);
  fprintf(stderr, "%s\n", path);  // the last one is the one that crashed
  LLVMFuzzerTestOneInput(bytes, static_cast<size_t>(size));
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
