// decode_pictures FILE...: decodes JPEG and PNG files; prints a line for each, "WIDTH HEIGHT
// WORK_BYTES" or why it is not read, and writes its RGB pixels into FILE.rgb.
#include <stdio.h>

#include "runtime/app/picture/picture.h"
#include "runtime/core/loader.h"
#include "runtime/core/memory.h"

namespace {

// Null, or why a file is not read.
const char* Decode(const char* path) {
  const void* data = nullptr;
  size_t bytes = 0;
  if (!trimtab::MapFile(path, &data, &bytes).ok()) return "no such file";
  const auto* const file = static_cast<const uint8_t*>(data);
  trimtab::PictureSize size;
  if (const char* why = trimtab::MeasurePicture(file, bytes, &size)) return why;
  printf("%d %d %llu: ", size.width, size.height, static_cast<unsigned long long>(size.work_bytes));
  const auto pixel_bytes = static_cast<size_t>(size.pixel_bytes());
  const auto work_bytes = static_cast<size_t>(size.work_bytes);
  if (pixel_bytes > 1 << 24) return "large";
  auto* const pixels = static_cast<uint8_t*>(trimtab::MapMemory(pixel_bytes));
  auto* const work = static_cast<uint8_t*>(trimtab::MapMemory(work_bytes));
  if (pixels == nullptr || work == nullptr) return "no memory";
  const char* const why = trimtab::DecodePicture(file, bytes, size, pixels, work);
  if (why == nullptr) {
    char name[512];
    snprintf(name, sizeof(name), "%s.rgb", path);
    FILE* const to = fopen(name, "wb");
    if (to == nullptr || fwrite(pixels, 1, pixel_bytes, to) != pixel_bytes || fclose(to) != 0)
      return "cannot write";
  }
  trimtab::UnmapMemory(pixels, pixel_bytes);
  trimtab::UnmapMemory(work, work_bytes);
  trimtab::UnmapFile(data, bytes);
  return why;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* const why = Decode(argv[i]);
    puts(why == nullptr ? "decoded" : why);
  }
  return 0;
}
