#include "remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "node-agent/files/foreign_file.h"

#define PAGE_PRESENT (1ull << 63) /* bit of an entry of /proc/PID/pagemap */
#define ENTRIES      16u          /* entries that are read at once */

static int read_now(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {(void *)(uintptr_t)address, size};
	ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (done < 0)
		return -errno;
	return (size_t)done == size ? 0 : -EFAULT;
}

/* ---- pages that are not in memory --------------------------------------------------------------- */

static int open_pagemap(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns whether all of these pages are in memory. Reading them then asks no file system. */
static bool is_present(int pagemap, uint64_t address, size_t size)
{
	const uint64_t page_size = (uint64_t)getpagesize();
	uint64_t entries[ENTRIES];

	if (pagemap < 0 || size == 0 || address > UINT64_MAX - size)
		return false;
	uint64_t page = address / page_size, end = (address + size - 1) / page_size + 1;
	while (page < end) {
		const uint64_t nr = end - page < ENTRIES ? end - page : ENTRIES;
		const size_t bytes = nr * sizeof(*entries);

		if (pread(pagemap, entries, bytes, (off_t)(page * sizeof(*entries))) !=
		    (ssize_t)bytes)
			return false;
		for (uint64_t i = 0; i < nr; i++)
			if (!(entries[i] & PAGE_PRESENT))
				return false;
		page += nr;
	}
	return true;
}

struct read_call {
	struct foreign_call call; /* first */
	pid_t pid;
	uint64_t address;
	size_t size;
	int result;
	uint8_t bytes[];
};

static void run(struct foreign_call *call)
{
	struct read_call *read = (struct read_call *)call;

	read->result = read_now(read->pid, read->address, read->bytes, read->size);
}

static void returned(struct foreign_call *call)
{
	free(call);
}

static int read_beside(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct read_call *read = malloc(sizeof(*read) + size);
	char name[64];

	if (!read)
		return -ENOMEM;
	snprintf(name, sizeof(name), "memory of process %d", (int)pid);
	*read = (struct read_call){
		.call = {.run = run,
			 .returned = returned,
			 .user = geteuid(), /* our user's processes, or its jobs' */
			 .device = 1ull << 63 | (uint32_t)pid, /* no device has such a number */
			 .path = name},
		.pid = pid,
		.address = address,
		.size = size,
	};
	int r = foreign_file_call(&read->call);
	if (r == -ETIMEDOUT)
		return r;
	r = r ? r : read->result;
	if (r == 0)
		memcpy(to, read->bytes, size);
	free(read);
	return r;
}

/* ---- reading ------------------------------------------------------------------------------------ */

int remote_memory_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	int pagemap = open_pagemap(pid);
	bool present = is_present(pagemap, address, size);

	if (pagemap >= 0)
		close(pagemap);
	return present ? read_now(pid, address, to, size) : read_beside(pid, address, to, size);
}

uint32_t remote_memory_read_ranges(pid_t pid, const struct remote_range *ranges, uint32_t nr)
{
	struct iovec local[REMOTE_MEMORY_RANGES_MAX] = {{0}};
	struct iovec remote[REMOTE_MEMORY_RANGES_MAX] = {{0}};
	int pagemap = open_pagemap(pid);
	uint32_t nr_present = 0, whole = 0;

	for (; nr_present < nr && nr_present < REMOTE_MEMORY_RANGES_MAX; nr_present++) {
		const struct remote_range *range = &ranges[nr_present];

		if (!is_present(pagemap, range->address, range->size))
			break;
		local[nr_present] = (struct iovec){range->to, range->size};
		remote[nr_present] = (struct iovec){(void *)(uintptr_t)range->address, range->size};
	}
	if (pagemap >= 0)
		close(pagemap);
	ssize_t done =
		nr_present ? process_vm_readv(pid, local, nr_present, remote, nr_present, 0) : 0;
	while (done > 0 && whole < nr_present && (size_t)done >= ranges[whole].size)
		done -= (ssize_t)ranges[whole++].size;
	return whole;
}
