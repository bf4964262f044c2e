#include "probe_source.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "launch_stack.skel.h"
#include "probe_event.h"
#include "probe_note.h"
#include "probe_ring.h"

#include "base/array.h"
#include "bpf/launch_event.h"
#include "bpf/sample_event.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/files/maps_file.h"
#include "node-agent/files/permitted_file.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/probe_stacks.h"
#include "node-agent/kernel/bpf_rights.h"
#include "node-agent/kernel/bpf_ring.h"

#define LOST        "launches have the stacks that their processes walk themselves"
#define PROVIDER    "flamegrid"
#define NAME        "launch"
#define LIBRARY     "libflamegrid_inject" /* prefix of the library's file name */
#define MAPS_MAX    (64u << 20)           /* bytes */
#define PATIENCE_NS 1000000000ull         /* a program may be preempted, or its process throttled */

struct watched_guest {
	pid_t pid;                   /* 0: another guest has taken over the pid */
	int event_fd;                /* owns; -1: none */
	struct probe_stacks *stacks; /* owns */
	uint64_t received;
};

struct probe_source {
	void (*notice)(void *context, const char *line);
	void *context;
	struct launch_stack_bpf *program; /* owns this and everything below */
	struct probe_ring *ring;
	int nr_cpus;
	struct sample_counts *per_cpu; /* counts of nr_cpus CPUs */
	struct watched_guest **guests;
	uint32_t nr_guests, last; /* last: index of the guest found last */
	uint64_t stuck_ns;        /* start of the time without progress; 0: none */
};

__attribute__((format(printf, 2, 3))) static void notice(struct probe_source *source,
							 const char *format, ...)
{
	char line[BPF_RIGHTS_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	source->notice(source->context, line);
}

/* ---- start and end ------------------------------------------------------------------------------ */

/* Maps for samples, which this program does not use, get the smallest size. */
static int load(struct probe_source *source, uint32_t size)
{
	source->program = launch_stack_bpf__open();
	if (!source->program)
		return -errno;
	int r = bpf_map__set_max_entries(source->program->maps.events, size);
	if (r == 0)
		r = bpf_map__set_max_entries(source->program->maps.watched, 1);
	if (r == 0)
		r = launch_stack_bpf__load(source->program);
	if (r == 0)
		r = bpf_ring_run_once(bpf_program__fd(source->program->progs.find_viewer));
	return r;
}

static int start(struct probe_source *source, uint32_t ring_bytes)
{
	uint32_t size = bpf_ring_size(ring_bytes, PROBE_SOURCE_RING_DEFAULT);
	int r;

	bpf_rights_raise_memory();
	libbpf_set_print(NULL);
	r = load(source, size);
	if (r)
		return r;
	source->nr_cpus = libbpf_num_possible_cpus();
	if (source->nr_cpus < 0)
		return source->nr_cpus;
	source->per_cpu = calloc((size_t)source->nr_cpus, sizeof(*source->per_cpu));
	if (!source->per_cpu)
		return -ENOMEM;
	return probe_ring_open(bpf_map__fd(source->program->maps.events), size, &source->ring);
}

static int start_or_say(struct probe_source *source, uint32_t ring_bytes)
{
	char line[BPF_RIGHTS_LINE_MAX];
	struct bpf_rights rights;

	bpf_rights_read(&rights, "");
	if (bpf_rights_missing(&rights, LOST, line)) {
		notice(source, "%s", line);
		return -ECANCELED;
	}
	int r = start(source, ring_bytes);
	if (r) {
		bpf_rights_explain("BPF: the launch probe", r, LOST, line);
		notice(source, "%s", line);
	}
	return r ? -ECANCELED : 0;
}

int probe_source_create(const struct probe_source_options *options,
			void (*notice_line)(void *context, const char *line), void *context,
			struct probe_source **source)
{
	struct probe_source *new_source;

	*source = NULL;
	if (options->source != STACK_SOURCE_UPROBE)
		return 0;
	new_source = calloc(1, sizeof(*new_source));
	if (!new_source)
		return -ENOMEM;
	new_source->notice = notice_line;
	new_source->context = context;
	if (start_or_say(new_source, options->ring_bytes) == 0)
		*source = new_source;
	else
		probe_source_destroy(new_source);
	return 0;
}

static void destroy_guest(struct watched_guest *guest)
{
	if (!guest)
		return;
	if (guest->event_fd >= 0)
		close(guest->event_fd);
	probe_stacks_destroy(guest->stacks);
	free(guest);
}

void probe_source_destroy(struct probe_source *source)
{
	if (!source)
		return;
	for (uint32_t i = 0; i < source->nr_guests; i++)
		destroy_guest(source->guests[i]);
	free(source->guests);
	free(source->per_cpu);
	probe_ring_close(source->ring);
	launch_stack_bpf__destroy(source->program);
	free(source);
}

/* ---- events ------------------------------------------------------------------------------------- */

static struct watched_guest *guest_of(struct probe_source *source, pid_t pid)
{
	if (source->last < source->nr_guests && source->guests[source->last]->pid == pid)
		return source->guests[source->last];
	for (uint32_t i = 0; i < source->nr_guests; i++) {
		if (source->guests[i]->pid != pid)
			continue;
		source->last = i;
		return source->guests[i];
	}
	return NULL;
}

/* An event of a guest that is gone is no loss: the guest's launches were read before it went. */
static int on_event(void *context, const void *data, size_t size)
{
	const struct launch_event *event = data;
	struct watched_guest *guest =
		size >= sizeof(*event) && event->pid ? guest_of(context, (pid_t)event->pid) : NULL;

	if (!guest)
		return 0;
	guest->received++;
	return probe_stacks_put(guest->stacks, event->tid, event->correlation_id,
				(const uint64_t *)event->addresses, event->depth,
				event->code_pages);
}

int probe_source_pass(struct probe_source *source, uint64_t now_ns)
{
	if (!source)
		return 0;
	int r = probe_ring_read(source->ring, probe_ring_end(source->ring), on_event, source);
	if (r != 1) {
		source->stuck_ns = 0;
		return r;
	}
	if (source->stuck_ns == 0)
		source->stuck_ns = now_ns;
	return now_ns - source->stuck_ns < PATIENCE_NS ? 1 : 0;
}

/* ---- guests ------------------------------------------------------------------------------------- */

static bool is_library(const struct maps_file_entry *entry)
{
	size_t name = entry->path_size;

	while (name && entry->path[name - 1] != '/')
		name--;
	return entry->executable && entry->path_size - name > strlen(LIBRARY) &&
	       memcmp(entry->path + name, LIBRARY, strlen(LIBRARY)) == 0;
}

/* Finds the probe in a foreign call, since the file system of a job's library may not answer. */
struct locate {
	struct foreign_call call; /* first */
	pid_t pid;
	uint64_t start, end;
	char inside[PATH_MAX - 32], path[PATH_MAX]; /* the path in the process's root, and ours */
	struct probe_note note;
	int result;
};

/* Opens the mapped file itself. Where the kernel refuses that, opens the path in the process's root. */
static void run_locate(struct foreign_call *call)
{
	struct locate *locate = (struct locate *)call;
	struct elf_file *file;
	uid_t user, effective;

	snprintf(locate->path, sizeof(locate->path), "/proc/%d/map_files/%llx-%llx",
		 (int)locate->pid, (unsigned long long)locate->start,
		 (unsigned long long)locate->end);
	int r = elf_file_open_fd(
		permitted_file_open_mapped(locate->pid, locate->start, locate->end), &file);
	if (r) {
		int size = snprintf(locate->path, sizeof(locate->path), "/proc/%d/root",
				    (int)locate->pid);

		snprintf(locate->path + size, sizeof(locate->path) - (size_t)size, "%s",
			 locate->inside);
		proc_file_users(locate->pid, &user, &effective);
		r = elf_file_open_fd(permitted_file_open_in(locate->pid, locate->inside, user, 0),
				     &file);
	}
	if (r == 0) {
		r = probe_note_find(file, PROVIDER, NAME, &locate->note);
		elf_file_close(file);
	}
	locate->result = r;
}

static void destroy_locate(struct foreign_call *call)
{
	free(call);
}

static int locate_in(pid_t pid, const struct maps_file_entry *entry, char path[static PATH_MAX],
		     struct probe_note *note)
{
	struct locate *locate = calloc(1, sizeof(*locate));
	uid_t user, effective;

	if (!locate)
		return -ENOMEM;
	proc_file_users(pid, &user, &effective);
	locate->pid = pid;
	locate->start = entry->start;
	locate->end = entry->end;
	snprintf(locate->inside, sizeof(locate->inside), "%.*s", (int)entry->path_size,
		 entry->path);
	locate->call = (struct foreign_call){.run = run_locate,
					     .returned = destroy_locate,
					     .user = user,
					     .device = entry->device,
					     .path = locate->inside};
	int r = 0;
	if (foreign_file_may_hang(entry, user))
		r = foreign_file_call(&locate->call);
	else
		run_locate(&locate->call);
	if (r == 0) {
		r = locate->result;
		memcpy(path, locate->path, PATH_MAX);
		*note = locate->note;
	}
	if (r != -ETIMEDOUT)
		free(locate);
	return r;
}

/* Finds the guest's library in the process. -ENOENT: no library, or no such probe in it. */
static int locate(pid_t pid, char path[static PATH_MAX], struct probe_note *note)
{
	struct maps_file_entry entry;
	char *text;
	size_t size;
	int r = proc_file_read(pid, "maps", MAPS_MAX, &text, &size);

	if (r)
		return r;
	const char *rest = text;
	r = -ENOENT;
	while (r && maps_file_next(&rest, &size, &entry))
		if (is_library(&entry))
			r = locate_in(pid, &entry, path, note);
	free(text);
	return r;
}

static int watch(struct probe_source *source, struct watched_guest *guest)
{
	const uint32_t key = (uint32_t)guest->pid;
	char path[PATH_MAX];
	struct probe_note note;
	int r = locate(guest->pid, path, &note);

	memset(source->per_cpu, 0, (size_t)source->nr_cpus * sizeof(*source->per_cpu));
	if (r == 0 && bpf_map_update_elem(bpf_map__fd(source->program->maps.counts), &key,
					  source->per_cpu, BPF_ANY))
		r = -errno;
	if (r == 0)
		r = probe_event_open(path, &note, guest->pid,
				     bpf_program__fd(source->program->progs.on_launch),
				     &guest->event_fd);
	return r;
}

/* The process has called exec, so its earlier stacks are the earlier guest's. */
static void leave_earlier(struct probe_source *source, pid_t pid)
{
	struct watched_guest *earlier = guest_of(source, pid);

	if (!earlier)
		return;
	probe_ring_read(source->ring, probe_ring_end(source->ring), on_event, source);
	if (earlier->event_fd >= 0)
		close(earlier->event_fd);
	earlier->event_fd = -1;
	earlier->pid = 0;
}

struct probe_stacks *probe_source_attach(struct probe_source *source, pid_t pid)
{
	struct watched_guest *guest;
	int r = pid > 0 ? 0 : -ESRCH;

	if (!source)
		return NULL;
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return NULL;
	guest->pid = pid;
	guest->event_fd = -1;
	guest->stacks = probe_stacks_create();
	if (!guest->stacks)
		r = -ENOMEM;
	if (r == 0) {
		leave_earlier(source, pid);
		r = watch(source, guest);
	}
	if (r == 0)
		r = array_append(&source->guests, &source->nr_guests, &guest, sizeof(guest));
	if (r == 0)
		return guest->stacks;
	if (pid <= 0 || proc_file_is_alive(pid, 0))
		notice(source,
		       "process %d: its launches cannot be watched: %s; it walks its stacks itself",
		       (int)pid, strerror(-r));
	destroy_guest(guest);
	return NULL;
}

static uint32_t index_of(const struct probe_source *source, const struct probe_stacks *stacks)
{
	uint32_t i = 0;

	while (i < source->nr_guests && source->guests[i]->stacks != stacks)
		i++;
	return i;
}

void probe_source_detach(struct probe_source *source, struct probe_stacks *stacks)
{
	uint32_t i = source && stacks ? index_of(source, stacks) : 0, key;

	if (!source || !stacks || i == source->nr_guests)
		return;
	key = (uint32_t)source->guests[i]->pid;
	if (key)
		bpf_map_delete_elem(bpf_map__fd(source->program->maps.counts), &key);
	destroy_guest(source->guests[i]);
	source->guests[i] = source->guests[--source->nr_guests];
}

void probe_source_counts(const struct probe_source *source, const struct probe_stacks *stacks,
			 struct probe_source_counts *counts)
{
	uint32_t i = index_of(source, stacks), key;

	*counts = (struct probe_source_counts){0};
	if (i == source->nr_guests)
		return;
	counts->received = source->guests[i]->received;
	key = (uint32_t)source->guests[i]->pid;
	if (bpf_map_lookup_elem(bpf_map__fd(source->program->maps.counts), &key, source->per_cpu))
		return;
	for (int cpu = 0; cpu < source->nr_cpus; cpu++)
		counts->lost += source->per_cpu[cpu].probes_lost;
}
