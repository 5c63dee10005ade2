// Common parts of the TCG plug-ins: the part of QEMU's plug-in API that they use, and text output.
//
// The API is declared here (docs: QEMU, "TCG Plugins"), so that neither QEMU's header, nor glib,
// nor libc's headers are needed. TRIMTAB_PLUGIN_API is 1 up to QEMU 8 and 2 from QEMU 9 on;
// declarations are the same in both, unless noted.
//
// The runner brackets measured work with prctl(0x7472696d, phase, index), a system call that the
// kernel rejects and a plug-in sees.

#ifndef TRIMTAB_RUNTIME_TOOLS_TCG_PLUGIN_H_
#define TRIMTAB_RUNTIME_TOOLS_TCG_PLUGIN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t {
  const char* target_name;  // and more
};
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W = 2, QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*SystemCallCallback)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
                                   uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5,
                                   uint64_t a6, uint64_t a7, uint64_t a8);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t,
                                                            struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* tb,
                                          void (*callback)(unsigned int, void*),
                                          enum qemu_plugin_cb_flags flags, void* userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* insn,
                                      void (*callback)(unsigned int, qemu_plugin_meminfo_t,
                                                       uint64_t, void*),
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void* userdata);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, SystemCallCallback callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              void (*callback)(qemu_plugin_id_t, unsigned int,
                                                               int64_t, int64_t));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn* insn);
#if TRIMTAB_PLUGIN_API >= 2
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn* insn, void* to, size_t length);
#else
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* insn);
#endif
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
void qemu_plugin_outs(const char* string);

EXPORT int qemu_plugin_version = TRIMTAB_PLUGIN_API;

static const uint64_t kMarker = 0x7472696d;  // "trim"

// Writes the digits of `number` before `end`; returns the first one.
static inline char* PutNumber(char* end, uint64_t number) {
  do {
    *--end = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return end;
}

#endif  // TRIMTAB_RUNTIME_TOOLS_TCG_PLUGIN_H_
