#include "guest_register.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/base/fair_shares.h"
#include "node-agent/files/proc_file.h"

#define MAGIC 0x31726774u

/* The contents of the file. Another build's agent may use another layout; its file is then ignored. */
struct page {
	uint32_t magic, entry_size;
	struct guest_register_entry entries[GUEST_REGISTER_MAX];
};

struct guest_register {
	char *path;        /* owns */
	struct page *page; /* mapped */
	/* the message that must be stored first; GUEST_REGISTER_LATER; UINT64_MAX: not told yet */
	uint64_t seqs[GUEST_REGISTER_MAX];
	uint32_t nr_told; /* entries whose storing is awaited */
};

/* Allocates the pages before they are written, because a full file system would kill the agent. */
static int map(struct guest_register *reg)
{
	int fd = open(reg->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	struct stat status;

	if (fd < 0)
		return -errno;
	int r = fstat(fd, &status) ? -errno : 0;
	/* Another owner could truncate the file under our mapping. */
	if (r == 0 && (!S_ISREG(status.st_mode) || status.st_uid != geteuid()))
		r = -EPERM;
	if (r == 0)
		r = -posix_fallocate(fd, 0, sizeof(struct page));
	if (r == 0) {
		void *page =
			mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		reg->page = page == MAP_FAILED ? NULL : page;
		r = reg->page ? 0 : -errno;
	}
	close(fd);
	return r;
}

int guest_register_open(const char *socket_path, struct guest_register **reg)
{
	struct guest_register *new_reg = calloc(1, sizeof(*new_reg));

	*reg = NULL;
	if (!new_reg)
		return -ENOMEM;
	int r = asprintf(&new_reg->path, "%s" GUEST_REGISTER_SUFFIX, socket_path) < 0 ? -ENOMEM : 0;
	if (r)
		new_reg->path = NULL;
	else
		r = map(new_reg);
	if (r) {
		free(new_reg->path);
		free(new_reg);
		return r;
	}
	struct page *page = new_reg->page;
	if (page->magic != MAGIC || page->entry_size != sizeof(page->entries[0])) {
		memset(page, 0, sizeof(*page));
		page->magic = MAGIC;
		page->entry_size = sizeof(page->entries[0]);
	}
	memset(new_reg->seqs, 0xff, sizeof(new_reg->seqs));
	*reg = new_reg;
	return 0;
}

void guest_register_close(struct guest_register *reg)
{
	bool is_empty = true;

	if (!reg)
		return;
	for (uint32_t i = 0; i < GUEST_REGISTER_MAX; i++)
		is_empty &= !reg->page->entries[i].is_used;
	if (is_empty)
		unlink(reg->path);
	munmap(reg->page, sizeof(*reg->page));
	free(reg->path);
	free(reg);
}

void guest_register_each(const struct guest_register *reg, guest_register_left left, void *context)
{
	for (uint32_t i = 0; reg && i < GUEST_REGISTER_MAX; i++)
		if (reg->page->entries[i].is_used)
			left(context, &reg->page->entries[i]);
}

static uint32_t find(const struct guest_register *reg, uid_t uid,
		     const uint8_t instance[static HANDSHAKE_INSTANCE_SIZE])
{
	const struct guest_register_entry *entries = reg->page->entries;
	uint32_t i = 0;

	while (i < GUEST_REGISTER_MAX &&
	       !(entries[i].is_used && entries[i].uid == uid &&
		 memcmp(entries[i].hello.instance, instance, HANDSHAKE_INSTANCE_SIZE) == 0))
		i++;
	return i;
}

/* Finds a free place that this user may have, else returns GUEST_REGISTER_MAX. */
static uint32_t find_place(const struct guest_register *reg, uid_t uid)
{
	const struct guest_register_entry *entries = reg->page->entries;
	uint32_t place = GUEST_REGISTER_MAX, left = 0, held = 0;

	for (uint32_t i = 0; i < GUEST_REGISTER_MAX; i++) {
		held += entries[i].is_used && entries[i].uid == uid;
		left += !entries[i].is_used;
		if (!entries[i].is_used && place == GUEST_REGISTER_MAX)
			place = i;
	}
	return fair_shares_admit(uid, held, left) ? place : GUEST_REGISTER_MAX;
}

int guest_register_add(struct guest_register *reg, pid_t pid, uid_t uid,
		       const struct guest_hello *hello)
{
	if (!reg)
		return 0;
	if (find(reg, uid, hello->instance) < GUEST_REGISTER_MAX)
		return -EEXIST; /* perhaps of an earlier agent: it stays, and is told again */
	uint32_t i = find_place(reg, uid);
	if (i == GUEST_REGISTER_MAX)
		return -ENOSPC;
	struct guest_register_entry *entry = &reg->page->entries[i];
	char *command = proc_file_command(pid, NULL);

	entry->uid = uid;
	entry->pid = pid;
	entry->start_ticks = proc_file_start_ticks(pid);
	entry->hello = *hello;
	snprintf(entry->command, sizeof(entry->command), "%s", command ? command : "");
	free(command);
	__atomic_store_n(&entry->is_used, 1,
			 __ATOMIC_RELEASE); /* if the agent is killed now, the entry is whole */
	return 0;
}

void guest_register_told(struct guest_register *reg, uid_t uid,
			 const uint8_t instance[static HANDSHAKE_INSTANCE_SIZE], uint64_t seq)
{
	uint32_t i = reg ? find(reg, uid, instance) : GUEST_REGISTER_MAX;

	if (i == GUEST_REGISTER_MAX || reg->seqs[i] != UINT64_MAX)
		return;
	reg->seqs[i] = seq;
	reg->nr_told += seq != GUEST_REGISTER_LATER;
}

void guest_register_counted(struct guest_register *reg, uid_t uid, uint64_t seq)
{
	for (uint32_t i = 0; reg && i < GUEST_REGISTER_MAX; i++) {
		if (reg->seqs[i] != GUEST_REGISTER_LATER ||
		    (uid != GUEST_REGISTER_ALL && reg->page->entries[i].uid != uid))
			continue;
		reg->seqs[i] = seq;
		reg->nr_told++;
	}
}

void guest_register_stored(struct guest_register *reg, uint64_t seq)
{
	for (uint32_t i = 0; reg && reg->nr_told > 0 && i < GUEST_REGISTER_MAX; i++) {
		if (reg->seqs[i] > seq)
			continue;
		reg->page->entries[i].is_used = 0;
		reg->seqs[i] = UINT64_MAX;
		reg->nr_told--;
	}
}
