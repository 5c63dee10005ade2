/* Detects faces in a picture: face_detector MODEL.ttm PICTURE.ppm [DRAWN.ppm] [THRESHOLD]
 *
 * The model is a detector like Ultra-Light-Fast-Generic-Face-Detector: it takes a picture
 * float32 [1, 3, h, w], (RGB - 127) / 128, and returns scores [1, n, 2] (the second is a face's) and
 * boxes [1, n, 4] (left, top, right, bottom as fractions of the width and height). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trimtab.h"

enum { MAX_FACES = 200 };
static const float kOverlap = 0.3f; /* maximum intersection over union of two faces */

typedef struct {
  int width, height;
  unsigned char* rgb;
} picture;

typedef struct {
  float score, left, top, right, bottom; /* pixels of the picture */
} box;

static int fail(const char* what, const char* why) {
  fprintf(stderr, "face_detector: %s: %s\n", what, why);
  return 1;
}

static int read_ppm(const char* path, picture* p) {
  FILE* file = fopen(path, "rb");
  int most = 0;
  if (file == NULL) return fail(path, "cannot be opened");
  if (fscanf(file, "P6 %d %d %d", &p->width, &p->height, &most) != 3 || most != 255 ||
      p->width < 1 || p->height < 1 || p->width > 10000 || p->height > 10000) {
    fclose(file);
    return fail(path, "is not a binary 8-bit PPM without comments (P6)");
  }
  fgetc(file);
  const size_t size = (size_t)p->width * (size_t)p->height * 3;
  p->rgb = malloc(size);
  const int whole = p->rgb != NULL && fread(p->rgb, 1, size, file) == size;
  fclose(file);
  return whole ? 0 : fail(path, "is truncated");
}

static int write_ppm(const char* path, const picture* p) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return fail(path, "cannot be written");
  const size_t size = (size_t)p->width * (size_t)p->height * 3;
  fprintf(file, "P6\n%d %d\n255\n", p->width, p->height);
  const int whole = fwrite(p->rgb, 1, size, file) == size;
  return fclose(file) == 0 && whole ? 0 : fail(path, "cannot be written");
}

/* Resizes the picture to the model's size by nearest neighbor, one plane per channel. */
static void fill(const picture* p, int width, int height, float* planes) {
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < height; ++y) {
      const int row = (int)((long)y * p->height / height);
      for (int x = 0; x < width; ++x) {
        const int column = (int)((long)x * p->width / width);
        const size_t at = ((size_t)row * (size_t)p->width + (size_t)column) * 3 + (size_t)c;
        *planes++ = ((float)p->rgb[at] - 127.0f) / 128.0f;
      }
    }
  }
}

static float area(float width, float height) {
  return width > 0 && height > 0 ? width * height : 0;
}

static float overlap(const box* a, const box* b) {
  const float both = area(fminf(a->right, b->right) - fmaxf(a->left, b->left),
                          fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top));
  return both / (area(a->right - a->left, a->bottom - a->top) +
                 area(b->right - b->left, b->bottom - b->top) - both + 1e-9f);
}

/* Non-maximum suppression: selects boxes by descending score. */
static int choose(const float* scores, const float* boxes, int n, float threshold, const picture* p,
                  box* chosen) {
  char* done = calloc((size_t)n, 1);
  int count = 0;
  while (done != NULL && count < MAX_FACES) {
    int best = -1;
    for (int i = 0; i < n; ++i) {
      if (!done[i] && scores[2 * i + 1] > threshold &&
          (best < 0 || scores[2 * i + 1] > scores[2 * best + 1]))
        best = i;
    }
    if (best < 0) break;
    const float* at = boxes + 4 * (size_t)best;
    const float w = (float)p->width, h = (float)p->height;
    const box next = {scores[2 * best + 1], at[0] * w, at[1] * h, at[2] * w, at[3] * h};
    int is_new = 1;
    for (int i = 0; i < count; ++i) is_new &= overlap(&next, &chosen[i]) <= kOverlap;
    if (is_new) chosen[count++] = next;
    done[best] = 1;
  }
  free(done);
  return count;
}

static int within(float value, int size) {
  return value<0 ? 0 : value>(float)(size - 1) ? size - 1 : (int)value;
}

static void draw(picture* p, const box* b) {
  const int left = within(b->left, p->width), right = within(b->right, p->width);
  const int top = within(b->top, p->height), bottom = within(b->bottom, p->height);
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      if (y != top && y != bottom && x != left && x != right) continue;
      unsigned char* pixel = p->rgb + ((size_t)y * (size_t)p->width + (size_t)x) * 3;
      pixel[0] = 0, pixel[1] = 255, pixel[2] = 0;
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage", "face_detector MODEL.ttm PICTURE.ppm [DRAWN.ppm] [THRESHOLD]");
  const float threshold = argc > 4 ? (float)atof(argv[4]) : 0.7f;
  picture p = {0, 0, NULL};
  if (read_ppm(argv[2], &p) != 0) return 1;

  trimtab_model* model;
  char why[256];
  if (trimtab_open_file(argv[1], NULL, &model, why, sizeof why) != TRIMTAB_OK)
    return fail(argv[1], why);
  trimtab_tensor input, scores, boxes;
  if (trimtab_input(model, 0, &input) != TRIMTAB_OK || trimtab_output_count(model) != 2 ||
      trimtab_output(model, 0, &scores) != TRIMTAB_OK ||
      trimtab_output(model, 1, &boxes) != TRIMTAB_OK || input.rank != 4 || input.dims[1] != 3 ||
      input.dtype != 1 || scores.rank != 3 || scores.dims[2] != 2 || boxes.rank != 3 ||
      boxes.dims[2] != 4 || boxes.dims[1] != scores.dims[1])
    return fail(argv[1], "is not a detector: [1, 3, h, w] -> scores [1, n, 2], boxes [1, n, 4]");
  float* planes = malloc(input.bytes);
  if (planes == NULL) return fail(argv[2], "out of memory");
  fill(&p, input.dims[3], input.dims[2], planes);
  trimtab_set_input(model, 0, planes, input.bytes); /* not copied */
  if (trimtab_run(model) != TRIMTAB_OK) return fail(argv[1], trimtab_last_error(model));
  trimtab_output(model, 0, &scores); /* valid until the next run */
  trimtab_output(model, 1, &boxes);

  box faces[MAX_FACES];
  const int count = choose(scores.data, boxes.data, scores.dims[1], threshold, &p, faces);
  for (int i = 0; i < count; ++i) {
    const box* b = &faces[i];
    printf("%.4f %.2f %.2f %.2f %.2f\n", b->score, b->left, b->top, b->right, b->bottom);
    draw(&p, b);
  }
  const int failed = argc > 3 && write_ppm(argv[3], &p) != 0;
  trimtab_close(model);
  free(planes);
  free(p.rgb);
  return failed;
}
