// TCG plug-in for QEMU user mode: counts executed guest instructions, exactly and repeatably.
//
// The runner brackets what it wants measured with prctl(0x7472696d, phase, index), a system call
// the kernel refuses and we see. Each writes "phase index count" to QEMU's plug-in log (-d plugin
// -D FILE); a process that exits by itself ends it with "end 0 count".
//
// The API is declared here (docs: QEMU, "TCG Plugins"), so that neither QEMU's header, nor glib,
// nor a libc is needed. TRIMTAB_PLUGIN_API is 1 up to QEMU 8 and 2 from QEMU 9 on; the part used
// here is the same in both, which is why a call-back counts the blocks and not the inline
// operation, which version 2 dropped.
//
// A block is counted when it is entered: one that a fault leaves half-way counts in full. A system
// call ends its block, so counts at markers are exact. With several threads the sum is exact, but a
// marker sees the other threads wherever they are.

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_info_t;
typedef uint64_t qemu_plugin_id_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t,
                                                            struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* tb,
                                          void (*callback)(unsigned int, void*),
                                          enum qemu_plugin_cb_flags flags, void* userdata);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          void (*callback)(qemu_plugin_id_t, unsigned int, int64_t,
                                                           uint64_t, uint64_t, uint64_t, uint64_t,
                                                           uint64_t, uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
void qemu_plugin_outs(const char* string);

EXPORT int qemu_plugin_version = TRIMTAB_PLUGIN_API;

static const uint64_t kMarker = 0x7472696d;  // "trim"
static uint64_t executed_instructions;

static char* PutNumber(char* end, uint64_t number) {
  do {
    *--end = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return end;
}

static void WriteMark(uint64_t phase, uint64_t index, int is_end) {
  char line[80];
  char* start = line + sizeof(line);
  *--start = '\0';
  *--start = '\n';
  start = PutNumber(start, __atomic_load_n(&executed_instructions, __ATOMIC_RELAXED));
  *--start = ' ';
  start = PutNumber(start, index);
  *--start = ' ';
  if (is_end) {
    *--start = 'd';
    *--start = 'n';
    *--start = 'e';
  } else {
    start = PutNumber(start, phase);
  }
  qemu_plugin_outs(start);
}

static void OnBlockExecuted(unsigned int vcpu, void* instructions) {
  (void)vcpu;
  __atomic_fetch_add(&executed_instructions, (uint64_t)(uintptr_t)instructions, __ATOMIC_RELAXED);
}

static void OnBlockTranslated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, OnBlockExecuted, QEMU_PLUGIN_CB_NO_REGS,
                                       (void*)(uintptr_t)qemu_plugin_tb_n_insns(tb));
}

static void OnSystemCall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                         uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                         uint64_t a7, uint64_t a8) {
  (void)id, (void)vcpu, (void)number, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  if (a1 == kMarker) WriteMark(a2, a3, 0);
}

static void OnExit(qemu_plugin_id_t id, void* userdata) {
  (void)id, (void)userdata;
  WriteMark(0, 0, 1);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int argc,
                               char** argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnBlockTranslated);
  qemu_plugin_register_vcpu_syscall_cb(id, OnSystemCall);
  qemu_plugin_register_atexit_cb(id, OnExit, NULL);
  return 0;
}
