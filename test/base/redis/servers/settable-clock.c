/*
 * Preloaded into a program, it moves its wall clock by as many seconds as the file CLOCK_OFFSET_FILE says, and leaves the monotonic clock
 * alone. libfaketime does the same, but does not start with a Redis server that uses jemalloc, as Debian's does.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
  char text[32] = {0};
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return 0;
  long length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *to) {
  int result = syscall(SYS_clock_gettime, id, to);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) to->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
