/** A clock that a test sets while a server runs: a library between the server and the machine's clock. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from './own-server.ts'

/** Adds the number of seconds in the file `AHEAD` to the time of day, and leaves monotonic clocks alone. */
const LIBRARY = /* c */ `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void) {
  char text[32] = {0};
  const char *path = getenv("AHEAD");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? strtol(text, 0, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  int failed = syscall(SYS_clock_gettime, clock, at);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += ahead();
  return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  if (!failed && at) *at = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`

/** Why no clock can be set on this machine. */
export function missingCompiler(): string | undefined {
  return spawnSync('cc', ['--version']).status === 0 ? undefined : 'no C compiler'
}

/** `folder` may be read by the user of the server. */
export function settableClock(folder: string) {
  const [file, source, library] = [join(folder, 'ahead'), join(folder, 'clock.c'), join(folder, 'clock.so')]
  writeFileSync(source, LIBRARY)
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source])
  if (status !== 0) throw new Error(stderr.toString())
  const set = (aheadSeconds: number): void => writeFileSync(file, String(aheadSeconds))
  set(0)
  const env: Env = { LD_PRELOAD: library, AHEAD: file }
  return { env, set }
}
