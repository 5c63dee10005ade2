// A program with known behavior, to check that a transport passes everything through.
//
//   args WORD...      prints each argument in hexadecimal, one per line
//   exit CODE         ends with CODE
//   raise SIGNAL      ends by SIGNAL
//   env NAME          prints a variable
//   where             prints the working directory
//   flood BYTES       writes BYTES x's to stdout and as many y's to stderr, alternating
//   say TEXT          prints TEXT as a line, then waits forever
//   beat FILE         a child appends to FILE every 50 ms, forever; the parent waits for it
//   stdin             prints the number of bytes of stdin
//   loop [TEXT]       the runner's markers around 1000 and 2000 rounds of the same loop; with TEXT it
//                     then continues like "say"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void Mark(unsigned long phase, unsigned long index) {
  prctl(0x7472696d, phase, index, 0, 0);
}

static __attribute__((noinline)) void Loop(int rounds) {
  for (volatile int i = 0; i < rounds; ++i) {
  }
}

static int Say(const char* text) {
  puts(text);
  fflush(stdout);
  for (;;) pause();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* operand = argc > 2 ? argv[2] : "";
  if (strcmp(what, "args") == 0) {
    for (int i = 2; i < argc; ++i) {
      for (const unsigned char* c = (const unsigned char*)argv[i]; *c; ++c) printf("%02x", *c);
      puts("");
    }
    return 0;
  }
  if (strcmp(what, "exit") == 0) return atoi(operand);
  if (strcmp(what, "raise") == 0) return raise(atoi(operand));
  if (strcmp(what, "env") == 0) {
    const char* value = getenv(operand);
    return fputs(value ? value : "(none)", stdout) < 0;
  }
  if (strcmp(what, "where") == 0) {
    char folder[4096];
    return fputs(getcwd(folder, sizeof(folder)), stdout) < 0;
  }
  if (strcmp(what, "flood") == 0) {
    char x[4096], y[4096];
    memset(x, 'x', sizeof(x));
    memset(y, 'y', sizeof(y));
    for (long left = atol(operand); left > 0; left -= (long)sizeof(x)) {
      if (write(1, x, sizeof(x)) < 0 || write(2, y, sizeof(y)) < 0) return 1;
    }
    return 0;
  }
  if (strcmp(what, "say") == 0) return Say(operand);
  if (strcmp(what, "beat") == 0) {
    if (fork() == 0) {
      for (;;) {
        FILE* file = fopen(operand, "a");
        if (!file) return 1;
        fputs("beat\n", file);
        fclose(file);
        usleep(50000);
      }
    }
    return wait(NULL) < 0;
  }
  if (strcmp(what, "stdin") == 0) {
    long bytes = 0;
    while (getchar() != EOF) ++bytes;
    printf("%ld", bytes);
    return 0;
  }
  if (strcmp(what, "loop") == 0) {
    Mark(3, 0);
    Loop(1000);
    Mark(4, 0);
    Mark(3, 1);
    Loop(2000);
    Mark(4, 1);
    return argc > 2 ? Say(operand) : 0;
  }
  fprintf(stderr, "unknown: %s\n", what);
  return 2;
}
