#include "process_table.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest_process.h"

#include "node-agent/base/event_loop.h"
#include "node-agent/base/fair_shares.h"
#include "node-agent/files/proc_file.h"

struct entry {
	struct process_table *table;
	struct guest_process *process; /* owns */
	pid_t pid;                     /* 0: not watched */
	uint64_t start_ticks;
	struct event_source source; /* pidfd; -1: none */
};

struct process_table {
	struct event_loop *loop;
	struct entry *entries[PROCESS_TABLE_MAX]; /* owns */
	uint32_t count;
	uint64_t poll_ns;
	uint64_t launches, records; /* sums over removed processes */
};

struct process_table *process_table_create(struct event_loop *loop)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (table)
		table->loop = loop;
	return table;
}

static void unwatch(struct entry *entry)
{
	if (entry->source.fd >= 0) {
		event_loop_remove(entry->table->loop, &entry->source);
		close(entry->source.fd);
	}
	entry->source.fd = -1;
	entry->pid = 0;
}

void process_table_destroy(struct process_table *table)
{
	if (!table)
		return;
	while (table->count > 0)
		process_table_remove(table, 0);
	free(table);
}

static void on_death(void *context)
{
	struct entry *entry = context;

	unwatch(entry);
	guest_process_end(entry->process, true);
}

/* The pid may belong to another process since the handshake, which must not be watched. */
static void watch(struct entry *entry)
{
	entry->source.fd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
	if (entry->source.fd >= 0 && event_loop_add(entry->table->loop, &entry->source)) {
		close(entry->source.fd);
		entry->source.fd = -1;
	}
	if (!proc_file_is_alive(entry->pid, entry->start_ticks))
		on_death(entry);
}

int process_table_add(struct process_table *table, struct guest_process *process, pid_t pid)
{
	if (table->count == PROCESS_TABLE_MAX)
		return -ENOSPC;
	struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count && pid > 0; i++)
		if (table->entries[i]->pid == pid)
			on_death(table->entries[i]);
	*entry = (struct entry){
		.table = table,
		.process = process,
		.pid = pid > 0 ? pid : 0,
		.start_ticks = proc_file_start_ticks(pid),
		.source = {.fd = -1, .ready = on_death, .context = entry},
	};
	table->entries[table->count++] = entry;
	if (entry->pid > 0)
		watch(entry);
	return 0;
}

bool process_table_has_place(const struct process_table *table, uid_t uid, uint32_t *held)
{
	uint32_t left = PROCESS_TABLE_MAX - table->count;

	*held = 0;
	for (uint32_t i = 0; i < table->count; i++)
		*held += guest_process_uid(table->entries[i]->process) == uid;
	return fair_shares_admit(uid, *held, left);
}

uint32_t process_table_count(const struct process_table *table)
{
	return table->count;
}

struct guest_process *process_table_at(const struct process_table *table, uint32_t index)
{
	return table->entries[index]->process;
}

void process_table_remove(struct process_table *table, uint32_t index)
{
	struct entry *entry = table->entries[index];

	table->entries[index] = table->entries[--table->count];
	table->launches += guest_process_launches(entry->process);
	table->records += guest_process_records(entry->process);
	unwatch(entry);
	guest_process_destroy(entry->process);
	free(entry);
}

uint64_t process_table_step(struct process_table *table, uint64_t now_ns)
{
	bool look = now_ns >= table->poll_ns, watched = false;

	for (uint32_t i = 0; i < table->count; i++) {
		struct entry *entry = table->entries[i];

		if (entry->pid == 0 || entry->source.fd >= 0)
			continue;
		watched = true;
		if (look && !proc_file_is_alive(entry->pid, entry->start_ticks))
			on_death(entry);
	}
	if (look)
		table->poll_ns = now_ns + PROCESS_TABLE_POLL_NS;
	return watched ? table->poll_ns : UINT64_MAX;
}

bool process_table_has(const struct process_table *table, const struct guest_arrival *arrival)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (guest_process_is(table->entries[i]->process, arrival))
			return true;
	return false;
}

void process_table_beat(struct process_table *table, uint64_t now_ns)
{
	for (uint32_t i = 0; i < table->count; i++)
		guest_process_beat(table->entries[i]->process, now_ns);
}

void process_table_release(struct process_table *table, uint64_t seq)
{
	for (uint32_t i = 0; i < table->count; i++)
		guest_process_release(table->entries[i]->process, seq);
}

void process_table_counts(const struct process_table *table, uint64_t *launches, uint64_t *records)
{
	*launches = table->launches;
	*records = table->records;
	for (uint32_t i = 0; i < table->count; i++) {
		*launches += guest_process_launches(table->entries[i]->process);
		*records += guest_process_records(table->entries[i]->process);
	}
}

void process_table_end_all(struct process_table *table)
{
	/* Probes are left before the last look at the rings. */
	for (uint32_t i = 0; i < table->count; i++)
		guest_process_leave_probe(table->entries[i]->process);
	for (uint32_t i = 0; i < table->count; i++) {
		struct entry *entry = table->entries[i];
		struct pollfd pidfd = {.fd = entry->source.fd, .events = POLLIN};
		bool died = false;

		if (entry->source.fd >= 0)
			died = poll(&pidfd, 1, 0) == 1;
		else if (entry->pid > 0)
			died = !proc_file_is_alive(entry->pid, entry->start_ticks);
		unwatch(entry);
		guest_process_hurry(entry->process);
		guest_process_end(entry->process, died);
	}
}
