// Checks the row driver: every output is computed once, in pieces of legal size, with the right
// pointers; and no thread is idle while another has the rows of two.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "runtime/core/parallel.h"
#include "runtime/ops/row_driver.h"

namespace {

using trimtab::RowDriver;
using trimtab::RowPiece;
using trimtab::ThreadPool;

constexpr size_t kChannels = 64;  // enough for every piece to exceed the minimum cost of a block
constexpr size_t kMaxImages = 3, kMaxOutputSide = 56, kMaxInputSide = 2 * kMaxOutputSide;
int8_t x[kMaxImages * kMaxInputSide * kMaxInputSide * kChannels];
unsigned char done[kMaxImages * kMaxOutputSide * kMaxOutputSide];
alignas(64) unsigned char scratch[1 << 20];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int failures = 0;

// A 3 x 3 window over images with `out` x `out` outputs.
void CheckImages(ThreadPool* pool, size_t images, int32_t out, int64_t rows, int64_t pixels,
                 int32_t stride) {
  const auto size = static_cast<size_t>(out);
  const int32_t in = (out - 1) * stride + 1;
  const trimtab::Window window = {3, 3, stride, stride, 1, 1, 1, 1, 1, 1};
  const auto threads = static_cast<size_t>(pool->threads());
  RowDriver<int8_t> driver;
  if (!driver.Prepare(window, out, kChannels, rows, pixels, pool->threads()).ok() ||
      driver.scratch_bytes() > sizeof(scratch))
    exit(1);
  const auto area = static_cast<size_t>(in) * static_cast<size_t>(in);
  const trimtab::WindowSource<int8_t> source{
      window, in, in, out, out, kChannels, x, driver.Padding(scratch, kChannels, 0)};
  memset(done, 0, sizeof(done));
  size_t highest = 0;
  bool is_right = true;
  driver.Run(source, images, scratch, *pool, [&](const RowPiece<int8_t>& piece) {
    pthread_mutex_lock(&mutex);
    const bool fits = piece.rows > 0 && piece.rows < 2 * static_cast<size_t>(rows) &&
                      piece.pixels > 0 && piece.pixels <= static_cast<size_t>(pixels) &&
                      piece.row / size == (piece.row + piece.rows - 1) / size &&
                      piece.x + piece.pixels <= size && piece.row + piece.rows <= images * size;
    is_right = is_right && fits;
    if (piece.rows > highest) highest = piece.rows;
    for (size_t r = 0; fits && r < piece.rows; ++r) {
      const size_t image = (piece.row + r) / size, y = (piece.row + r) % size;
      for (size_t p = 0; p < piece.pixels; ++p) {
        ++done[(piece.row + r) * size + piece.x + p];
        // The middle tap, which is never in the padding.
        const auto step = static_cast<size_t>(stride);
        const int8_t* const middle = piece.a[(p * piece.step_w + 1) * piece.column + r * step + 1];
        const size_t place = y * step * static_cast<size_t>(in) + (piece.x + p) * step;
        is_right = is_right && middle == x + (image * area + place) * kChannels;
      }
    }
    pthread_mutex_unlock(&mutex);
  });
  for (size_t i = 0; i < images * size * size; ++i) is_right = is_right && done[i] == 1;
  // A thread that takes one piece has at most its part of all rows, and a fifth more.
  const size_t all = images * size, part = trimtab::DivideUp(all, threads);
  const bool is_shared = highest <= part || 5 * highest * threads <= 6 * all;
  if (is_right && is_shared) return;
  printf("threads %zu: %zu images of %d x %d in pieces of %d x %d, steps of %d: %s\n", threads,
         images, static_cast<int>(out), static_cast<int>(out), static_cast<int>(rows),
         static_cast<int>(pixels), static_cast<int>(stride),
         is_right ? "a thread has more than its part" : "not every number once, or at its place");
  ++failures;
}

}  // namespace

int main() {
  for (const int threads : {1, 2, 3, 4, 7}) {
    ThreadPool pool;
    if (!pool.Start(threads).ok()) return 1;
    for (const size_t images : {1u, 2u, 3u}) {
      for (const int32_t out : {7, 14, 15, 28, 56}) {
        for (const int64_t rows : {1, 2, 7, 8}) {
          for (const int64_t pixels : {5, 16}) {
            for (const int32_t stride : {1, 2})
              CheckImages(&pool, images, out, rows, pixels, stride);
          }
        }
      }
    }
  }
  if (failures == 0) printf("rows are shared\n");
  return failures == 0 ? 0 : 1;
}
