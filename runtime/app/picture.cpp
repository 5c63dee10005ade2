#include "runtime/app/picture.h"

#if TRIMTAB_PICTURES
#include <limits.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_FAILURE_STRINGS
#define STBI_NO_THREAD_LOCALS
#define STBI_MAX_DIMENSIONS (1 << 14)
#define STBI_ASSERT(condition) static_cast<void>((condition) || (__builtin_trap(), false))
#include "stb_image.h"

namespace trimtab {

bool DecodePicture(const uint8_t* data, size_t bytes, trimtab_image* image) {
  if (bytes > INT_MAX) return false;
  int channels = 0;
  image->planes[0] = stbi_load_from_memory(data, static_cast<int>(bytes), &image->width,
                                           &image->height, &channels, 3);
  image->format = TRIMTAB_RGB;
  return image->planes[0] != nullptr;
}

}  // namespace trimtab
#elif TRIMTAB_FRAMES
namespace trimtab {

bool DecodePicture(const uint8_t*, size_t, trimtab_image*) { return false; }

}  // namespace trimtab
#endif
