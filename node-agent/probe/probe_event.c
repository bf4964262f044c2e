#include "probe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe_note.h"

#define TYPE_PATH       "/sys/bus/event_source/devices/uprobe/type"
#define SEMAPHORE_SHIFT 32 /* as in format/ref_ctr_offset of the PMU */

static int read_type(uint32_t *type)
{
	char text[16];
	int fd = open(TYPE_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return -EOPNOTSUPP;
	text[size] = '\0';
	*type = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

int probe_event_try(void)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.uprobe_path = (uint64_t)(uintptr_t) "",
	};
	int r = read_type(&attributes.type);

	if (r)
		return r;
	/* The kernel checks the right before the path (perf_uprobe_event_init() in kernel/events/core.c). */
	r = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r < 0)
		return -errno;
	close(r);
	return 0;
}

int probe_event_open(const char *path, const struct probe_note *note, pid_t pid, int program_fd,
		     int *fd)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.config = note->semaphore_offset << SEMAPHORE_SHIFT,
		.uprobe_path = (uint64_t)(uintptr_t)path,
		.probe_offset = note->offset,
	};
	int r = read_type(&attributes.type);

	*fd = -1;
	if (r == 0 && note->semaphore_offset > UINT32_MAX)
		r = -EOVERFLOW;
	if (r)
		return r;
	int event =
		(int)syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program_fd) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		r = -errno;
		close(event);
		return r;
	}
	*fd = event;
	return 0;
}
