// Compiled only into runners of networks whose frames may differ in size.
#if TRIMTAB_FRAMES
#include "runtime/app/image.h"

#include "runtime/app/picture/picture.h"
#include "runtime/core/loader.h"
#include "runtime/core/memory.h"

namespace trimtab {
namespace {

constexpr int kMaxSide = 1 << 14;

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

#if TRIMTAB_PICTURES
// Nothing is decoded, and no memory allocated, before the size of the picture is known to fit the
// model and the memory.
ImageError SetPicture(trimtab_model* model, uint32_t index, const uint8_t* data, size_t bytes,
                      uint64_t* room) {
  PictureSize size;
  if (const char* why = MeasurePicture(data, bytes, &size)) return {TRIMTAB_IO, why};
  trimtab_image image = {};
  image.format = TRIMTAB_RGB;
  image.width = size.width;
  image.height = size.height;
  image.planes[0] = data;  // no pixel is read before the run
  if (const int code = trimtab_set_image(model, index, &image))
    return {code, trimtab_last_error(model)};
  if (size.pixel_bytes() + size.work_bytes > *room)
    return {TRIMTAB_MEMORY_LIMIT, "a JPEG or PNG file needs more memory than --max-memory leaves"};
  *room -= size.pixel_bytes();
  const auto work_bytes = static_cast<size_t>(size.work_bytes);
  void* const pixels = MapMemory(static_cast<size_t>(size.pixel_bytes()));
  void* const work = pixels != nullptr ? MapMemory(work_bytes) : nullptr;
  if (work == nullptr) return {TRIMTAB_OUT_OF_MEMORY, "no memory for a JPEG or PNG file"};
  image.planes[0] = pixels;
  const char* const why =
      DecodePicture(data, bytes, size, static_cast<uint8_t*>(pixels), static_cast<uint8_t*>(work));
  UnmapMemory(work, work_bytes);
  if (why != nullptr) return {TRIMTAB_IO, why};
  const int code = trimtab_set_image(model, index, &image);
  return {code, code == 0 ? nullptr : trimtab_last_error(model)};
}
#else
ImageError SetPicture(trimtab_model*, uint32_t, const uint8_t*, size_t, uint64_t*) {
  return {TRIMTAB_IO, "this runner reads no JPEG or PNG files: build it with --pictures"};
}
#endif

}  // namespace

ImageError SetImageFile(trimtab_model* model, uint32_t index, const char* path, uint64_t* room) {
  const void* data = nullptr;
  size_t bytes = 0;
  if (!MapFile(path, &data, &bytes).ok()) return {TRIMTAB_IO, "an image file is missing or empty"};
  const auto* const begin = static_cast<const uint8_t*>(data);
  trimtab_image image = {};
  trimtab_tensor tensor;
  const bool is_coded = IsPicture(begin, bytes);
  const bool is_picture =
      is_coded || (bytes > 2 && begin[0] == 'P' && (begin[1] == '5' || begin[1] == '6'));
  // Pixels of a frame can begin as these files do.
  const bool is_frame =
      !is_picture || (trimtab_input(model, index, &tensor) == 0 && tensor.bytes == bytes);
  int code = 0;
  if (is_coded) {
    const ImageError wrong = SetPicture(model, index, begin, bytes, room);
    if (!is_frame || wrong.message == nullptr) return wrong;
  } else if (is_picture) {
    if (Header(begin, bytes).Read(&image)) {
      code = trimtab_set_image(model, index, &image);
      return {code, code == 0 ? nullptr : trimtab_last_error(model)};
    }
    if (!is_frame)
      return {TRIMTAB_IO, "an image file is not a whole PPM or PGM with 8 bits per channel"};
  }
  code = trimtab_set_input(model, index, data, bytes);
  return {code, code == 0 ? nullptr : trimtab_last_error(model)};
}

}  // namespace trimtab
#endif
