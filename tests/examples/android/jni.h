/* What jni.c uses of JNI, as the specification of Java SE declares it; for checks of types alone. */
#ifndef JNI_H_
#define JNI_H_
#include <stdint.h>
typedef int32_t jint;
typedef int64_t jlong;
typedef float jfloat;
typedef jint jsize;
typedef struct _jobject* jobject;
typedef jobject jclass, jstring, jfloatArray, jintArray, jobjectArray;
typedef const struct JNINativeInterface* JNIEnv;
struct JNINativeInterface {
  jint (*ThrowNew)(JNIEnv*, jclass, const char*);
  jclass (*FindClass)(JNIEnv*, const char*);
  jfloatArray (*NewFloatArray)(JNIEnv*, jsize);
  void (*SetFloatArrayRegion)(JNIEnv*, jfloatArray, jsize, jsize, const jfloat*);
  jstring (*NewStringUTF)(JNIEnv*, const char*);
  const char* (*GetStringUTFChars)(JNIEnv*, jstring, unsigned char*);
  void (*ReleaseStringUTFChars)(JNIEnv*, jstring, const char*);
  void (*GetIntArrayRegion)(JNIEnv*, jintArray, jsize, jsize, jint*);
  jobject (*GetObjectArrayElement)(JNIEnv*, jobjectArray, jsize);
  void* (*GetDirectBufferAddress)(JNIEnv*, jobject);
};
#define JNIEXPORT
#define JNICALL
#endif
