/* The native methods of Detector.kt. */
#include <android/hardware_buffer_jni.h>
#include <jni.h>
#include <stddef.h>

#include "detector.h"

enum { VALUES = 6 }; /* of a box: left, top, right, bottom, score, class */

static void fail(JNIEnv* env, const char* why) {
  (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalStateException"), why);
}

/* The boxes of the last run, VALUES numbers for each. */
static jfloatArray boxes(JNIEnv* env, const trimtab_model* model) {
  const int32_t count = trimtab_box_count(model, 0);
  jfloatArray result = (*env)->NewFloatArray(env, count * VALUES);
  for (int32_t i = 0; result != NULL && i < count; ++i) {
    trimtab_box box;
    if (trimtab_box_at(model, 0, i, &box) != TRIMTAB_OK) break;
    const jfloat values[VALUES] = {box.xmin, box.ymin,  box.xmax,
                                   box.ymax, box.score, (jfloat)box.class_index};
    (*env)->SetFloatArrayRegion(env, result, i * VALUES, VALUES, values);
  }
  return result;
}

static jfloatArray detected(JNIEnv* env, trimtab_model* model, const yuv_frame* frame) {
  const int status = detect(model, frame);
  if (status == TRIMTAB_OK) return boxes(env, model);
  const char* why = trimtab_last_error(model);
  fail(env, why[0] != '\0' ? why : "the frame is neither NV12 nor NV21 nor I420");
  return NULL;
}

JNIEXPORT jstring JNICALL Java_org_trimtab_example_Detector_abi(JNIEnv* env, jclass type) {
  (void)type;
  return (*env)->NewStringUTF(env, DETECTOR_ABI);
}

JNIEXPORT jlong JNICALL Java_org_trimtab_example_Detector_open(JNIEnv* env, jclass type,
                                                               jstring path, jint threads) {
  (void)type;
  trimtab_model* model = NULL;
  trimtab_options options = {0};
  char why[256] = "out of memory";
  const char* name = (*env)->GetStringUTFChars(env, path, NULL);
  options.threads = threads;
  const int status = name == NULL ? -1 : trimtab_open_file(name, &options, &model, why, sizeof why);
  if (name != NULL) (*env)->ReleaseStringUTFChars(env, path, name);
  if (status != TRIMTAB_OK) fail(env, why);
  return (jlong)(intptr_t)model;
}

JNIEXPORT void JNICALL Java_org_trimtab_example_Detector_close(JNIEnv* env, jclass type,
                                                               jlong model) {
  (void)env, (void)type;
  trimtab_close((trimtab_model*)(intptr_t)model);
}

JNIEXPORT jstring JNICALL Java_org_trimtab_example_Detector_label(JNIEnv* env, jclass type,
                                                                  jlong model, jint index) {
  (void)type;
  return (*env)->NewStringUTF(env, trimtab_label((trimtab_model*)(intptr_t)model, index));
}

/* `planes`: direct buffers of Y, U, V; `strides`: of their rows, then of their pixels. */
JNIEXPORT jfloatArray JNICALL Java_org_trimtab_example_Detector_ofPlanes(JNIEnv* env, jclass type,
                                                                         jlong model, jint width,
                                                                         jint height,
                                                                         jobjectArray planes,
                                                                         jintArray strides) {
  (void)type;
  yuv_frame frame = {width, height, {NULL}, {0}, {0}};
  jint numbers[6];
  (*env)->GetIntArrayRegion(env, strides, 0, 6, numbers);
  for (int i = 0; i < 3; ++i) {
    frame.planes[i] =
        (*env)->GetDirectBufferAddress(env, (*env)->GetObjectArrayElement(env, planes, i));
    frame.row_strides[i] = numbers[i];
    frame.pixel_strides[i] = numbers[3 + i];
  }
  return detected(env, (trimtab_model*)(intptr_t)model, &frame);
}

#if __ANDROID_API__ >= 29
/* `buffer`: an android.hardware.HardwareBuffer of YCBCR_420_888 with the usage CPU_READ_OFTEN. */
JNIEXPORT jfloatArray JNICALL Java_org_trimtab_example_Detector_ofBuffer(JNIEnv* env, jclass type,
                                                                         jlong model,
                                                                         jobject buffer) {
  (void)type;
  AHardwareBuffer* memory = AHardwareBuffer_fromHardwareBuffer(env, buffer);
  AHardwareBuffer_Desc facts;
  AHardwareBuffer_Planes planes;
  AHardwareBuffer_describe(memory, &facts);
  if (AHardwareBuffer_lockPlanes(memory, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, NULL, &planes) !=
          0 ||
      planes.planeCount != 3) {
    fail(env, "the buffer has no planes that a processor may read");
    return NULL;
  }
  yuv_frame frame = {(int32_t)facts.width, (int32_t)facts.height, {NULL}, {0}, {0}};
  for (int i = 0; i < 3; ++i) {
    frame.planes[i] = planes.planes[i].data;
    frame.row_strides[i] = (int32_t)planes.planes[i].rowStride;
    frame.pixel_strides[i] = (int32_t)planes.planes[i].pixelStride;
  }
  jfloatArray result = detected(env, (trimtab_model*)(intptr_t)model, &frame);
  AHardwareBuffer_unlock(memory, NULL);
  return result;
}
#endif
