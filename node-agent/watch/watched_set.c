#include "watched_set.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "watched_table.h"

#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_process.h"
#include "node-agent/kernel/bpf_ring.h"

#define NS_PER_S 1000000000ull

int watched_set_init(struct watched_set *set)
{
	*set = (struct watched_set){.table = watched_table_create()};
	return set->table ? 0 : -ENOMEM;
}

void watched_set_fini(struct watched_set *set)
{
	watched_table_destroy(set->table);
	*set = (struct watched_set){.table = NULL};
}

static int get_process(struct watched_set *set, pid_t pid, struct watched_process **process)
{
	struct watched watched;

	*process = watched_table_find(set->table, pid);
	if (*process)
		return 0;
	if (!bpf_ring_lookup(set->ring, pid, &watched))
		watched = (struct watched){0};
	*process = watched_process_create(&set->scope, pid, &watched);
	int r = *process ? watched_table_add(set->table, *process) : -ENOMEM;
	if (r) {
		watched_process_destroy(*process);
		*process = NULL;
		return r;
	}
	const struct watched_process *parent =
		watched.parent ? watched_table_find(set->table, (pid_t)watched.parent) : NULL;
	if (parent)
		watched_process_inherit(*process, parent);
	return 0;
}

/* Finds the process that started it, if that process is watched. 0 or -ENOMEM. */
static int find_parent(struct watched_set *set, pid_t pid, struct watched_process **parent)
{
	struct watched watched, own;

	*parent = NULL;
	if (!bpf_ring_lookup(set->ring, pid, &own) || own.parent == 0 ||
	    !bpf_ring_lookup(set->ring, (pid_t)own.parent, &watched) ||
	    (watched.flags & WATCHED_CHILDREN_ONLY))
		return 0;
	return get_process(set, (pid_t)own.parent, parent);
}

static void account(struct watched_set *set, struct watched_process *process)
{
	struct sample_counts counts;

	bpf_ring_counts(set->ring, watched_process_pid(process), &counts);
	watched_process_account(process, &counts);
}

/* Credits the process with the events that have come, of all that the kernel has counted as sent. *counts: the kernel's
 * counts that belong to the process. */
static void close_account(struct watched_set *set, struct watched_process *process,
			  struct sample_counts *counts)
{
	bpf_ring_counts(set->ring, watched_process_pid(process), counts);
	watched_process_account(process, counts);
	watched_process_taken(process, counts);
	watched_process_account(process, counts);
}

static void forget(struct watched_set *set, struct watched_process *process)
{
	set->samples += watched_process_samples(process);
	watched_table_remove(set->table, watched_table_index(set->table, process));
}

/* The pid now has another program or process, so the counts so far belong to the old one. */
static int replace(struct watched_set *set, struct watched_process **process)
{
	pid_t pid = watched_process_pid(*process);
	struct sample_counts counts;

	close_account(set, *process, &counts);
	int r = watched_process_finish(*process, NULL);
	forget(set, *process);
	*process = NULL;
	if (r == 0)
		r = get_process(set, pid, process);
	if (r == 0)
		watched_process_set_base(*process, &counts);
	return r;
}

int watched_set_find(struct watched_set *set, const struct sample_event *event,
		     struct watched_process **process)
{
	struct watched watched;

	*process = NULL;
	/* A process that is over may have been sampled on its way out. */
	if (!watched_table_find(set->table, (pid_t)event->pid) &&
	    !bpf_ring_lookup(set->ring, (pid_t)event->pid, &watched))
		return 0;
	int r = get_process(set, (pid_t)event->pid, process);

	if (r == 0 && watched_process_is_other(*process, event))
		r = replace(set, process);
	return r;
}

int watched_set_prepare(struct watched_set *set, pid_t pid)
{
	struct watched_process *process;
	struct watched watched;

	if (!bpf_ring_lookup(set->ring, pid, &watched))
		return 0;
	int r = get_process(set, pid, &process);

	return r ? r : watched_process_prepare(process);
}

static int finish(struct watched_set *set, struct watched_process *process,
		  const struct sample_counts *counts)
{
	struct watched_process *parent;
	pid_t pid = watched_process_pid(process);
	int r = find_parent(set, pid, &parent);

	watched_process_account(process, counts);
	if (r == 0)
		r = watched_process_finish(process, parent);
	forget(set, process);
	bpf_ring_unwatch(set->ring, pid);
	return r;
}

static bool may_finish(const struct watched_set *set, struct watched_process *process,
		       struct sample_counts *counts)
{
	if (!watched_process_has_ended(process) || watched_process_guest(process))
		return false;
	bpf_ring_counts(set->ring, watched_process_pid(process), counts);
	return watched_process_settles(process, counts, set->stopped);
}

/* Processes without a sample go first, since they leave their counts to their parents. */
int watched_set_finish(struct watched_set *set)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		uint32_t i = 0;

		while (i < watched_table_count(set->table)) {
			struct watched_process *process = watched_table_at(set->table, i);
			struct sample_counts counts;

			if ((!sampled && watched_process_samples(process)) ||
			    !may_finish(set, process, &counts)) {
				i++;
				continue;
			}
			int r = finish(set, process, &counts);
			if (r)
				return r;
			i = 0;
		}
	}
	return 0;
}

/* The kernel may have counted something for processes without a sample. all: looks at living processes, too. */
int watched_set_look(struct watched_set *set, bool all)
{
	struct watched watched;
	struct sample_counts counts;
	pid_t pid = 0, next;

	for (next = bpf_ring_next(set->ring, 0, &watched); next; next = pid) {
		struct watched found = watched;
		uint64_t ticks = found.start / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));

		pid = bpf_ring_next(set->ring, next, &watched);
		if ((found.flags & WATCHED_CHILDREN_ONLY) || watched_table_find(set->table, next))
			continue;
		bool alive = proc_file_is_alive(next, ticks);
		if (alive && !all)
			continue;
		bpf_ring_counts(set->ring, next, &counts);
		if (counts.samples || counts.short_waits || counts.probes_lost ||
		    counts.collectives) {
			struct watched_process *process;
			int r = get_process(set, next, &process);

			if (r)
				return r;
		} else if (!alive) {
			bpf_ring_unwatch(set->ring, next);
		}
	}
	return 0;
}

void watched_set_begin_pass(struct watched_set *set)
{
	for (uint32_t i = 0; i < watched_table_count(set->table); i++)
		watched_process_begin_pass(watched_table_at(set->table, i));
}

int watched_set_flush(struct watched_set *set)
{
	int r = 0;

	for (uint32_t i = 0; i < watched_table_count(set->table) && r == 0; i++)
		r = watched_process_flush(watched_table_at(set->table, i));
	return r;
}

int watched_set_account(struct watched_set *set)
{
	int r = 0;

	for (uint32_t i = 0; i < watched_table_count(set->table) && r == 0; i++) {
		struct watched_process *process = watched_table_at(set->table, i);

		account(set, process);
		r = set->stopped ? watched_process_leave(process)
				 : watched_process_send_ledger(process);
	}
	return r;
}

uint64_t watched_set_samples(const struct watched_set *set)
{
	uint64_t samples = set->samples;

	for (uint32_t i = 0; i < watched_table_count(set->table); i++)
		samples += watched_process_samples(watched_table_at(set->table, i));
	return samples;
}

/* ---- guests ------------------------------------------------------------------------------------- */

int watched_set_claim(struct watched_set *set, pid_t pid, uint32_t *process_id)
{
	struct watched_process *process = watched_table_find(set->table, pid);

	*process_id = process ? watched_process_claim(process) : 0;
	/* Samples under an id that cannot be claimed, or another guest, belong to another program. */
	if (process && *process_id == 0 &&
	    (watched_process_samples(process) || watched_process_guest(process)))
		return replace(set, &process);
	return 0;
}

int watched_set_attach(struct watched_set *set, pid_t pid, struct guest_process *guest)
{
	struct watched_process *process;
	int r = get_process(set, pid, &process);

	if (r == 0)
		watched_process_set_guest(process, guest);
	return r;
}

static struct watched_process *process_of(const struct watched_set *set,
					  const struct guest_process *guest)
{
	struct watched_process *process = watched_table_find(set->table, guest_process_pid(guest));

	return process && watched_process_guest(process) == guest ? process : NULL;
}

pid_t watched_set_pid_of(const struct watched_set *set, const struct guest_process *guest)
{
	return process_of(set, guest) ? guest_process_pid(guest) : 0;
}

bool watched_set_is_read(struct watched_set *set, const struct guest_process *guest)
{
	struct watched_process *process = process_of(set, guest);

	return !process || watched_process_is_read(process, bpf_ring_written(set->ring),
						   bpf_ring_read(set->ring));
}

void watched_set_account_guest(struct watched_set *set, const struct guest_process *guest)
{
	struct watched_process *process = process_of(set, guest);
	struct sample_counts counts;

	if (process && watched_process_has_ended(process))
		close_account(set, process, &counts);
	else if (process)
		account(set, process);
}

void watched_set_detach(struct watched_set *set, const struct guest_process *guest)
{
	struct watched_process *process = process_of(set, guest);

	if (!process)
		return;
	bool ended = watched_process_has_ended(process);
	pid_t pid = guest_process_pid(guest);

	forget(set, process);
	if (ended)
		bpf_ring_unwatch(set->ring, pid);
}
