// TCG plug-in for QEMU user mode: counts executed guest instructions, exactly and repeatably.
//
// At each of the runner's markers "phase index count" is written to QEMU's plug-in log (-d plugin
// -D FILE); a process that exits by itself ends it with "end 0 count". Blocks are counted by a
// call-back, because version 2 of the API dropped the inline operation.
//
// A block is counted when it is entered: a block that a fault interrupts counts in full. A system
// call ends its block, so counts at markers are exact. With several threads the sum is exact, but a
// marker sees the other threads at arbitrary positions.

#include "runtime/tools/tcg_plugin.h"

static uint64_t executed_instructions;

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
