#include "leaving_thread.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/monotonic.h"

#define STAT_SIZE 256u /* bytes: the name and the state come first */

static struct {
	int tid;               /* 0: none */
	uint64_t processor_ns; /* at the note */
	uint64_t asleep_ns;    /* when it was found asleep; 0: it was not */
	uint64_t asleep_processor_ns;
} self;

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* The clock of a thread of this process: linux/posix-timers.h, MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED). */
static clockid_t clock_of(int tid)
{
	return (clockid_t)((~(unsigned int)tid << 3) | 6u);
}

/* false: there is no such thread any more. */
static bool processor_time(int tid, uint64_t *ns)
{
	struct timespec time;

	if (clock_gettime(clock_of(tid), &time))
		return false;
	*ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	return true;
}

/* Returns a thread's state as of proc(5), "R" and so on; 0: not known. */
static char state_of(int tid)
{
	char path[64], text[STAT_SIZE];
	const char *end;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

void leaving_thread_note(void)
{
	self.tid = own_tid();
	self.asleep_ns = 0;
	if (!processor_time(self.tid, &self.processor_ns))
		self.tid = 0;
}

/* Returns whether it was asleep at the last look, too, and has not run since. */
static bool sleeps(uint64_t processor_ns)
{
	uint64_t now_ns = monotonic_ns(), since_ns = self.asleep_ns;

	if (state_of(self.tid) != 'S') {
		self.asleep_ns = 0;
		return false;
	}
	if (since_ns && processor_ns == self.asleep_processor_ns)
		return now_ns - since_ns >= LEAVING_THREAD_NS;
	self.asleep_ns = now_ns;
	self.asleep_processor_ns = processor_ns;
	return false;
}

bool leaving_thread_is_out(void)
{
	uint64_t processor_ns;

	if (!self.tid)
		return true;
	if (self.tid == own_tid() || !processor_time(self.tid, &processor_ns) ||
	    processor_ns >= self.processor_ns + LEAVING_THREAD_NS || sleeps(processor_ns))
		self.tid = 0;
	return !self.tid;
}
