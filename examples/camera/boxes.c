/* Finds objects, faces or people in pictures or frames: boxes MODEL.ttm FILE...
 *
 * The model is a detector with a head, behind a camera whose frames may differ in size (README.md).
 * FILE is a picture (binary PPM) or a frame of the camera's format without a header, such as NV12 of
 * the camera's largest size. Each box is a line: label, score, left, top, right, bottom, and x, y,
 * score of its keypoints, in pixels of the picture. */
#include "image_file.h"

static void print_boxes(const trimtab_model* model) {
  for (int32_t i = 0; i < trimtab_box_count(model, 0); ++i) {
    trimtab_box box;
    if (trimtab_box_at(model, 0, i, &box) != TRIMTAB_OK) return;
    printf("%s %.4f %.2f %.2f %.2f %.2f", box.label, box.score, box.xmin, box.ymin, box.xmax,
           box.ymax);
    for (int32_t k = 0; k < 3 * box.point_count; ++k) printf(" %.3f", box.points[k]);
    printf("\n");
  }
}

int main(int argc, char** argv) { return run_files(argc, argv, print_boxes); }
