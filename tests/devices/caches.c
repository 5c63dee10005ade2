// Accesses memory in a known order, between the runner's markers: the markers of operator N enclose
// round N.
//
//   walk BYTES STRIDE r|w TURNS   reads or writes a byte at each multiple of STRIDE
//   jump COUNT BYTES              reads COUNT bytes at random offsets; every third access writes
//   share BYTES                   two threads walk over the same bytes concurrently, one round each

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static _Alignas(1 << 16) volatile unsigned char memory[1 << 22];
static long shared_bytes;

static void Mark(unsigned long phase, unsigned long index) {
  prctl(0x7472696d, phase, index, 0, 0);
}

static __attribute__((noinline)) void Walk(long bytes, long stride, int is_write) {
  if (is_write) {
    for (long i = 0; i < bytes; i += stride) memory[i] = 1;
  } else {
    for (long i = 0; i < bytes; i += stride) (void)memory[i];
  }
}

static __attribute__((noinline)) void Jump(long count, long bytes) {
  uint32_t state = 1;
  for (long i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const long at = (long)((state >> 8) % (uint32_t)bytes);
    if (i % 3 == 0) {
      memory[at] = 1;
    } else {
      (void)memory[at];
    }
  }
}

static void* Share(void* unused) {
  Walk(shared_bytes, 64, 0);
  return unused;
}

int main(int argc, char** argv) {
  if (argc == 6 && strcmp(argv[1], "walk") == 0) {
    for (int turn = 0; turn < atoi(argv[5]); ++turn) {
      Mark(5, (unsigned long)turn);
      Walk(atol(argv[2]), atol(argv[3]), argv[4][0] == 'w');
      Mark(6, (unsigned long)turn);
    }
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "jump") == 0) {
    Mark(5, 0);
    Jump(atol(argv[2]), atol(argv[3]));
    Mark(6, 0);
    return 0;
  }
  if (argc == 3 && strcmp(argv[1], "share") == 0) {
    pthread_t other;
    shared_bytes = atol(argv[2]);
    Mark(5, 0);
    if (pthread_create(&other, NULL, Share, NULL) != 0) return 1;
    Share(NULL);
    pthread_join(other, NULL);
    Mark(6, 0);
    return 0;
  }
  return 2;
}
