// Accesses memory in a known order, between the runner's markers: the markers of operator N enclose
// round N.
//
//   walk BYTES STRIDE r|w TURNS   reads or writes a byte at each multiple of STRIDE
//   jump COUNT BYTES              reads COUNT bytes at random offsets; every third access writes
//   share BYTES                   two threads walk over the same bytes concurrently, one round each
//   take ROUNDS BLOCKS            four threads take the blocks of each round, and wait for the next

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static atomic_long round_now, next_block, done;
static long rounds, blocks;

static void Take(void) {
  while (atomic_fetch_add(&next_block, 1) < blocks) {
    Walk(3000, 1, 0);
    atomic_fetch_add(&done, 1);
  }
}

// Waits as a thread of a pool does: for a while by yielding, then asleep.
static void* Help(void* unused) {
  for (long seen = 0; seen < rounds; ++seen) {
    struct timespec now;
    for (int i = 0; i < 100 && atomic_load(&round_now) == seen; ++i) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      sched_yield();
    }
    while ((int)atomic_load(&round_now) == seen)
      syscall(SYS_futex, &round_now, FUTEX_WAIT_PRIVATE, (int)seen, NULL, NULL, 0);
    Take();
  }
  return unused;
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
  if (argc == 4 && strcmp(argv[1], "take") == 0) {
    pthread_t helpers[3];
    rounds = atol(argv[2]), blocks = atol(argv[3]);
    for (int i = 0; i < 3; ++i)
      if (pthread_create(&helpers[i], NULL, Help, NULL) != 0) return 1;
    for (int i = 0; i < rounds; ++i) {
      Walk(100000, 1, 0);  // alone
      Mark(5, (unsigned long)i);
      atomic_store(&done, 0);
      atomic_store(&next_block, 0);
      atomic_fetch_add(&round_now, 1);
      syscall(SYS_futex, &round_now, FUTEX_WAKE_PRIVATE, 3, NULL, NULL, 0);
      Take();
      while (atomic_load(&done) < blocks) {
      }
      Mark(6, (unsigned long)i);
    }
    for (int i = 0; i < 3; ++i) pthread_join(helpers[i], NULL);
    return 0;
  }
  return 2;
}
