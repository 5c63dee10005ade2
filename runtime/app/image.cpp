// Compiled only into runners of networks whose frames may differ in size.
#if TRIMTAB_FRAMES
#include "runtime/app/image.h"

#include "runtime/app/picture.h"
#include "runtime/core/loader.h"

namespace trimtab {
namespace {

constexpr int kMaxSide = 1 << 14;
#if TRIMTAB_PICTURES
constexpr char kNotDecoded[] = "a JPEG or PNG file is damaged or too large";
#else
constexpr char kNotDecoded[] = "this runner reads no JPEG or PNG files: build it with --pictures";
#endif

// Reads the header of a PPM (P6) or PGM (P5) file.
class Header {
 public:
  Header(const uint8_t* begin, size_t size) : at_(begin), end_(begin + size) {}

  // Width, height, and the pixels; false for a header that is malformed, or files that are shorter
  // than it says.
  bool Read(trimtab_image* image) {
    const bool is_color = at_[1] == '6';
    at_ += 2;
    int32_t max = 0;
    if (!Number(&image->width) || !Number(&image->height) || !Number(&max) || max != 255 ||
        at_ == end_)
      return false;
    ++at_;  // one white space
    const int64_t bytes = int64_t{image->width} * image->height * (is_color ? 3 : 1);
    image->format = is_color ? TRIMTAB_RGB : TRIMTAB_GRAY;
    image->planes[0] = at_;
    return end_ - at_ >= bytes;
  }

 private:
  static bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  bool Number(int32_t* value) {
    const uint8_t* const start = at_;
    while (at_ != end_ && (IsSpace(*at_) || *at_ == '#')) {
      const bool is_comment = *at_ == '#';
      while (is_comment && at_ + 1 != end_ && *at_ != '\n') ++at_;
      ++at_;
    }
    if (at_ == start) return false;
    *value = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && *value <= kMaxSide; ++at_)
      *value = *value * 10 + (*at_ - '0');
    return *value >= 1 && *value <= kMaxSide;
  }

  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace

const char* SetImageFile(trimtab_model* model, uint32_t index, const char* path) {
  const void* data = nullptr;
  size_t bytes = 0;
  if (!MapFile(path, &data, &bytes).ok()) return "an image file is missing or empty";
  const auto* const begin = static_cast<const uint8_t*>(data);
  trimtab_image image = {};
  trimtab_tensor tensor;
  const bool is_coded = IsPicture(begin, bytes);
  const bool is_picture =
      is_coded || (bytes > 2 && begin[0] == 'P' && (begin[1] == '5' || begin[1] == '6'));
  if (is_coded ? DecodePicture(begin, bytes, &image)
               : is_picture && Header(begin, bytes).Read(&image))
    return trimtab_set_image(model, index, &image) == 0 ? nullptr : trimtab_last_error(model);
  // Pixels of a frame can begin as these files do.
  if (is_picture && trimtab_input(model, index, &tensor) == 0 && tensor.bytes != bytes)
    return is_coded ? kNotDecoded
                    : "an image file is not a whole PPM or PGM with 8 bits per channel";
  return trimtab_set_input(model, index, data, bytes) == 0 ? nullptr : trimtab_last_error(model);
}

}  // namespace trimtab
#endif
