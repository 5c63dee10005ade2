/* What jni.c uses of the NDK's header of that name; for checks of types alone. */
#ifndef HARDWARE_BUFFER_JNI_H_
#define HARDWARE_BUFFER_JNI_H_
#include <jni.h>
#include <stdint.h>
typedef struct AHardwareBuffer AHardwareBuffer;
typedef struct {
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, rfu0;
  uint64_t rfu1;
} AHardwareBuffer_Desc;
typedef struct {
  void* data;
  uint32_t pixelStride, rowStride;
} AHardwareBuffer_Plane;
typedef struct {
  uint32_t planeCount;
  AHardwareBuffer_Plane planes[4];
} AHardwareBuffer_Planes;
typedef struct {
  int32_t left, top, right, bottom;
} ARect;
enum { AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3 };
AHardwareBuffer* AHardwareBuffer_fromHardwareBuffer(JNIEnv* env, jobject object);
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* facts);
int AHardwareBuffer_lockPlanes(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                               const ARect* rect, AHardwareBuffer_Planes* planes);
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);
#endif
