// TCG plug-in for QEMU user mode: simulates the data caches of a core while code executes.
//
//   -plugin cache.so,l1=BYTES:WAYS:LINE:CORES,l2=BYTES:WAYS:LINE:CORES[,l3=...]
//
// Each virtual CPU (thread) has a core; CORES of them share a cache of that level. Caches are
// write-back with allocation on reads and writes, LRU replacement, and virtual indices. A dirty
// line that is evicted is written to the next level as a whole, which need not read it first.
// Timing, prefetching and coherence are not modeled: a line that another core has written stays
// valid.
//
// At each of the runner's markers the log gets the events since the previous one:
//
//   mark PHASE INDEX
//   cpu N INSTRUCTIONS L1_MISSES    for each virtual CPU that executed instructions
//   ran BLOCK TIMES                 for each block that this CPU executed
//   level N MISSES WRITES           N from 2; lines read from the level below, and written to it
//
// and a line `block N HEX` with its machine code when a block is translated.
//
// Threads advance together: none executes kAhead more instructions than another one that does not
// sleep, so that threads share work and caches as cores that run concurrently, whatever the host's
// schedule. A thread that waits for work does not sleep when it yields or reads the clock, and one
// that is woken continues at the time of its waker, before others do.

#include "runtime/tools/tcg_plugin.h"

enum {
  kCpus = 16,  // further virtual CPUs reuse the counters and cores of the first ones
  kLevels = 3,
  kBlocks = 1 << 17,
  kLines = 1 << 22,
  kAhead = 4000,  // about a block of a shared loop
  kYields = 4,
  kPatience = 20000,
  kText = 1 << 16,
};

int sched_yield(void);
int usleep(unsigned int microseconds);
void abort(void);

typedef struct {
  uint64_t* lines;  // of each set, most recently used first: address / line size * 2 + dirty
} Cache;

typedef struct {
  uint32_t ways, sets, line_shift, cores;
  uint64_t misses, writes;
  Cache caches[kCpus];
} Level;

typedef struct {
  uint64_t instructions, l1_misses;
  uint64_t clock, limit;
  uint64_t last;  // most recently used line and dirty bit, as in Cache
  int is_running, is_in_futex_wait;
  char padding[64];
} Cpu;

static Level levels[kLevels];
static int level_count;
static Cpu cpus[kCpus];
static uint64_t pool[kLines];
static size_t pool_used;
static uint64_t executed[kCpus][kBlocks], block_sizes[kBlocks];
static size_t block_count;
static int lock;
static int woken;  // threads that a system call has woken, and that have not continued yet

// Numbers of system calls: sched_yield, clock_gettime, futex.
static int64_t yield_call, clock_call, futex_call;
enum { kFutexCommand = 127, kFutexWait = 0, kFutexWake = 1, kFutexWaitBitset = 9 };

static char text[kText];
static size_t text_length;

static void Flush(void) {
  text[text_length] = '\0';
  if (text_length != 0) qemu_plugin_outs(text);
  text_length = 0;
}

static void Put(const char* word) {
  if (text_length > kText - 100) Flush();
  while (*word != '\0') text[text_length++] = *word++;
}

static void Number(uint64_t number) {
  char digits[32];
  digits[31] = '\0';
  Put(" ");
  Put(PutNumber(digits + 31, number));
}

static void Lock(void) {
  for (int tries = 1; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0; ++tries) {
    if (tries % 64 == 0) sched_yield();
  }
}

static void Unlock(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

// Accesses a line of one cache: true if it is a hit. Otherwise inserts it; `*evicted`: the evicted
// line, as in Cache, or 0. Line 0 of memory is never used.
static inline int Use(const Level* level, const Cache* cache, uint64_t line, uint64_t dirty,
                      uint64_t* evicted) {
  uint64_t* set = cache->lines + (line % level->sets) * level->ways;
  uint64_t moved = set[0];
  for (uint32_t way = 0;;) {
    if (moved >> 1 == line) {
      set[0] = moved | dirty;
      return 1;
    }
    if (++way == level->ways) break;
    const uint64_t next = set[way];
    set[way] = moved;
    moved = next;
  }
  set[0] = line << 1 | dirty;
  *evicted = moved;
  return 0;
}

// `is_whole`: a complete line written back from the level above.
static void UseShared(int at, unsigned int cpu, uint64_t address, int is_whole) {
  if (at >= level_count) return;
  Level* level = &levels[at];
  uint64_t evicted = 0;
  const uint64_t line = address >> level->line_shift;
  if (Use(level, &level->caches[cpu / level->cores], line, (uint64_t)is_whole, &evicted)) return;
  if (!is_whole) {
    ++level->misses;
    UseShared(at + 1, cpu, address, 0);
  }
  if (evicted & 1) {
    ++level->writes;
    UseShared(at + 1, cpu, evicted >> 1 << level->line_shift, 1);
  }
}

static __attribute__((noinline)) void UseLine(unsigned int index, uint64_t line, uint64_t dirty) {
  Cpu* cpu = &cpus[index];
  Level* level = &levels[0];
  uint64_t evicted = 0;
  const Cache* cache = &level->caches[index / level->cores];
  const int hit = Use(level, cache, line, dirty, &evicted);
  cpu->last = cache->lines[(line % level->sets) * level->ways];
  if (hit) return;
  ++cpu->l1_misses;
  Lock();
  UseShared(1, index, line << level->line_shift, 0);
  if (evicted & 1) UseShared(1, index, evicted >> 1 << level->line_shift, 1);
  Unlock();
}

static void OnAccess(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                     void* unused) {
  (void)unused;
  const unsigned int index = vcpu % kCpus;
  const uint32_t shift = levels[0].line_shift;
  const uint64_t line = address >> shift, last = cpus[index].last;
  // QEMU 7 calls a store-only call-back for loads, too, if there is one for loads.
  const uint64_t dirty = qemu_plugin_mem_is_store(info);
  // Accessing the most recent line again only matters if it becomes dirty.
  if (last >> 1 != line || (dirty & ~last) != 0) UseLine(index, line, dirty);
  const uint64_t end = (address + (1ull << qemu_plugin_mem_size_shift(info)) - 1) >> shift;
  if (end != line) UseLine(index, end, dirty);
}

static uint64_t Slowest(const Cpu* self) {
  uint64_t least = self->clock;
  for (const Cpu* cpu = cpus; cpu != cpus + kCpus; ++cpu) {
    const uint64_t clock = __atomic_load_n(&cpu->clock, __ATOMIC_RELAXED);
    if (__atomic_load_n(&cpu->is_running, __ATOMIC_RELAXED) && clock < least) least = clock;
  }
  return least;
}

// Waits for slower threads, with a limit, because one may wait inside QEMU for this thread.
static __attribute__((noinline)) void Wait(Cpu* cpu) {
  for (int tries = 0; tries < kPatience; ++tries) {
    const int are_all_here = __atomic_load_n(&woken, __ATOMIC_RELAXED) <= 0;
    if (are_all_here && cpu->clock <= Slowest(cpu) + kAhead) break;
    // On a busy host a thread that yields loses its core for longer than one that sleeps.
    if (tries < kYields) {
      sched_yield();
    } else {
      usleep(1);
    }
  }
  cpu->limit = cpu->clock + kAhead / 4;
}

// A thread that starts or returns continues at the position of the fastest other thread.
static __attribute__((noinline)) void Start(Cpu* cpu) {
  for (const Cpu* other = cpus; other != cpus + kCpus; ++other) {
    if (other->is_running && other->clock > cpu->clock) cpu->clock = other->clock;
  }
  cpu->limit = cpu->clock + kAhead / 4;
  __atomic_store_n(&cpu->is_running, 1, __ATOMIC_RELAXED);
}

static void OnBlockExecuted(unsigned int vcpu, void* number) {
  Cpu* cpu = &cpus[vcpu % kCpus];
  const size_t block = (size_t)(uintptr_t)number;
  cpu->instructions += block_sizes[block];
  __atomic_fetch_add(&executed[cpu - cpus][block], 1, __ATOMIC_RELAXED);
  if (!cpu->is_running) Start(cpu);
  __atomic_store_n(&cpu->clock, cpu->clock + block_sizes[block], __ATOMIC_RELAXED);
  if (cpu->clock > cpu->limit) Wait(cpu);
}

static void OnBlockTranslated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  const size_t size = qemu_plugin_tb_n_insns(tb);
  Lock();
  const size_t block = block_count++;
  if (block_count > kBlocks) abort();
  block_sizes[block] = size;
  Put("block");
  Number(block);
  Put(" ");
  for (size_t i = 0; i < size; ++i) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    qemu_plugin_register_vcpu_mem_cb(insn, OnAccess, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     NULL);
#if TRIMTAB_PLUGIN_API >= 2
    unsigned char code[16];
    const size_t length = qemu_plugin_insn_data(insn, code, sizeof(code));
#else
    const unsigned char* code = qemu_plugin_insn_data(insn);
    const size_t length = qemu_plugin_insn_size(insn);
#endif
    for (size_t j = 0; j < length; ++j) {
      const char pair[3] = {"0123456789abcdef"[code[j] >> 4], "0123456789abcdef"[code[j] & 15],
                            '\0'};
      Put(pair);
    }
  }
  Put("\n");
  Unlock();
  qemu_plugin_register_vcpu_tb_exec_cb(tb, OnBlockExecuted, QEMU_PLUGIN_CB_NO_REGS,
                                       (void*)(uintptr_t)block);
}

// Returns the value and resets it to 0.
static uint64_t Take(uint64_t* counter) {
  return __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
}

static void WriteMark(uint64_t phase, uint64_t index) {
  Lock();
  Put("mark");
  Number(phase);
  Number(index);
  for (size_t i = 0; i < kCpus; ++i) {
    const uint64_t instructions = Take(&cpus[i].instructions);
    if (instructions == 0) continue;
    Put("\ncpu");
    Number(i);
    Number(instructions);
    Number(Take(&cpus[i].l1_misses));
    for (size_t j = 0; j < block_count; ++j) {
      const uint64_t times = Take(&executed[i][j]);
      if (times == 0) continue;
      Put("\nran");
      Number(j);
      Number(times);
    }
  }
  for (int i = 1; i < level_count; ++i) {
    Put("\nlevel");
    Number((uint64_t)i + 1);
    Number(Take(&levels[i].misses));
    Number(Take(&levels[i].writes));
  }
  Put("\n");
  Flush();
  Unlock();
}

static void OnSystemCall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                         uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                         uint64_t a7, uint64_t a8) {
  (void)id, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  Cpu* cpu = &cpus[vcpu % kCpus];
  const uint64_t command = a2 & kFutexCommand;
  const int is_futex = number == futex_call;
  cpu->is_in_futex_wait = is_futex && (command == kFutexWait || command == kFutexWaitBitset);
  if (number == yield_call || number == clock_call || (is_futex && command == kFutexWake)) return;
  __atomic_store_n(&cpu->is_running, 0, __ATOMIC_RELAXED);
  if (a1 == kMarker) WriteMark(a2, a3);
}

static void OnSystemCallReturn(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
                               int64_t result) {
  (void)id;
  Cpu* cpu = &cpus[vcpu % kCpus];
  if (number != futex_call) return;
  if (!cpu->is_in_futex_wait) {
    // A wake, unless the thread slept in another command.
    if (!cpu->is_running || result <= 0) return;
    __atomic_fetch_add(&woken, (int)result, __ATOMIC_RELAXED);
    cpu->limit = 0;
  } else if (result == 0) {
    Start(cpu);
    __atomic_fetch_sub(&woken, 1, __ATOMIC_RELAXED);
  }
}

static void OnExit(qemu_plugin_id_t id, void* userdata) {
  (void)id, (void)userdata;
  WriteMark(0, 0);
}

// Parses digits up to a colon or the end.
static uint32_t Digits(const char** at) {
  uint32_t number = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) number = number * 10 + (uint32_t)(**at - '0');
  if (**at == ':') ++*at;
  return number;
}

// False for an invalid cache; the caller has checked the user's input.
static int AddLevel(const char* at) {
  if (level_count == kLevels) return 0;
  Level* level = &levels[level_count++];
  const uint32_t bytes = Digits(&at);
  level->ways = Digits(&at);
  const uint32_t line = Digits(&at);
  level->cores = Digits(&at);
  if (*at != '\0' || level->ways == 0 || line == 0 || level->cores == 0) return 0;
  level->line_shift = (uint32_t)__builtin_ctz(line);
  level->sets = bytes / line / level->ways;
  if (level->sets == 0) return 0;
  for (uint32_t i = 0; i * level->cores < kCpus; ++i) {
    level->caches[i].lines = pool + pool_used;
    pool_used += (size_t)level->sets * level->ways;
    if (pool_used > kLines) return 0;
  }
  return 1;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int argc,
                               char** argv) {
  const int is_x86 = info->target_name[0] == 'x';
  yield_call = is_x86 ? 24 : 124;
  clock_call = is_x86 ? 228 : 113;
  futex_call = is_x86 ? 202 : 98;
  for (int i = 0; i < argc; ++i) {
    const char* value = argv[i];
    while (*value != '\0' && *value++ != '=') {
    }
    if (!AddLevel(value)) return -1;
  }
  if (level_count < 2) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnBlockTranslated);
  qemu_plugin_register_vcpu_syscall_cb(id, OnSystemCall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, OnSystemCallReturn);
  qemu_plugin_register_atexit_cb(id, OnExit, NULL);
  return 0;
}
