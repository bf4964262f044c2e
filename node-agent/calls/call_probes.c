#include "call_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call_sites.h"
#include "sites_visit.h"

#include "base/array.h"
#include "node-agent/files/maps_file.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/kernel/bpf_ring.h"

/* A process is looked at often until it has CUDA, and less often afterwards. */
#define LOOK_NS       20000000ull
#define LOOK_AGAIN_NS 250000000ull
/* Other code may have the same size, so the mappings are also read again after this time. */
#define READ_AGAIN_NS 5000000000ull

#define STATUS_MAX        (64u << 10)
#define MAPS_MAX          (64u << 20)
#define CODE_SIZE         "\nVmLib:"
#define NAME_SIZE         512u
#define DRIVER            "libcuda.so"
#define GUEST             "libflamegrid_inject"
#define PROCESS_FILES_MAX 16u

struct probed_file {
	dev_t device;
	ino_t inode;
	uint32_t nr_users;
	/* owns; NULL: the file has no such functions, or cannot be probed */
	struct call_links *links[CALL_PROGRAM_KINDS];
};

struct prober {
	pid_t pid;
	uint64_t start;   /* process_start of sample_event.h */
	uint64_t code_kb; /* at the last look; 0: not looked at yet */
	uint64_t next_look_ns, next_read_ns;
	uint64_t due_ns; /* a guest would have come by then. 0: no driver, or due */
	uint32_t flags;  /* enum watched_flags */
	pid_t parent;    /* parent that the ring has noted */
	bool seen;       /* in this scan */
	bool was_due;
	uint32_t nr_files;
	struct probed_file *files[PROCESS_FILES_MAX]; /* their nr_users count it */
};

struct call_probes {
	struct bpf_ring *ring;
	bool trusts_all;
	/* owns; NULL: the kernel refused the program */
	struct call_program *programs[CALL_PROGRAM_KINDS];
	struct call_probes_scope scope;
	struct prober *processes; /* owns */
	uint32_t nr_processes, max_processes;
	/* index behind the process found last: the ring mostly keeps its order */
	uint32_t cursor;
	struct probed_file **files; /* owns the array and its files */
	uint32_t nr_files, max_files;
};

/* A kernel may take one program and refuse the other. Collectives' stacks are walked by frame pointers alone. */
static void add_collectives(struct call_probes *probes, enum call_links_way way)
{
	const struct call_program_options options = {.way = way};
	char line[128];
	const char *what;
	int r = call_program_create(probes->ring, CALL_PROGRAM_COLLECTIVE, &options,
				    &probes->programs[CALL_PROGRAM_COLLECTIVE], &what);

	if (r == 0)
		return;
	snprintf(line, sizeof(line), "BPF: calls of NCCL are not seen: %s", strerror(-r));
	probes->scope.notice(probes->scope.context, line);
}

static void drop_file(struct probed_file *file)
{
	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		call_links_destroy(file->links[kind]);
	free(file);
}

int call_probes_create(struct bpf_ring *ring, const struct call_program_options *options,
		       bool trusts_all, const struct call_probes_scope *scope,
		       struct call_probes **probes, const char **what)
{
	struct call_probes *new_probes = calloc(1, sizeof(*new_probes));

	*probes = NULL;
	*what = "BPF: calls";
	if (!new_probes)
		return -ENOMEM;
	new_probes->ring = ring;
	new_probes->trusts_all = trusts_all;
	new_probes->scope = *scope;
	int r = call_program_create(ring, CALL_PROGRAM_CUDA, options,
				    &new_probes->programs[CALL_PROGRAM_CUDA], what);
	if (r) {
		call_probes_destroy(new_probes);
		return r;
	}
	add_collectives(new_probes, options->way);
	*probes = new_probes;
	return 0;
}

void call_probes_destroy(struct call_probes *probes)
{
	if (!probes)
		return;
	/* All files change kind by kind at one moment: use_mappings() gives the reason. */
	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		if (probes->programs[kind])
			call_program_silence(probes->programs[kind]);
	for (uint32_t i = 0; i < probes->nr_files; i++)
		drop_file(probes->files[i]);
	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		call_program_destroy(probes->programs[kind]);
	free(probes->files);
	free(probes->processes);
	free(probes);
}

int call_probes_python(const struct call_probes *probes)
{
	return call_program_python(probes->programs[CALL_PROGRAM_CUDA]);
}

static bool is_probed(const struct probed_file *file)
{
	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		if (file->links[kind])
			return true;
	return false;
}

uint32_t call_probes_files(const struct call_probes *probes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < probes->nr_files; i++)
		count += is_probed(probes->files[i]);
	return count;
}

/* ---- files -------------------------------------------------------------------------------------- */

/* Puts probes on the file's functions. A file without functions is no failure; a refused probe makes a notice. */
static void probe(struct call_probes *probes, enum call_program_kind kind, struct probed_file *file,
		  const struct sites_visit *visit)
{
	const struct call_sites *sites = &visit->sites[kind];
	char line[NAME_SIZE + 128];
	uint32_t nr_failed = 0;

	if (sites->count == 0)
		return;
	int r = call_links_create(probes->programs[kind], visit->fd, sites, &nr_failed,
				  &file->links[kind]);
	if (r == 0 && nr_failed == 0)
		return;
	snprintf(line, sizeof(line), "%.*s: %u of %u functions can't be probed: %s",
		 (int)NAME_SIZE - 1, visit->visit.path, r ? sites->count : nr_failed, sites->count,
		 r ? strerror(-r) : "their calls are not seen");
	probes->scope.notice(probes->scope.context, line);
}

static struct probed_file *find_file(const struct call_probes *probes,
				     const struct sites_visit *visit)
{
	for (uint32_t i = 0; i < probes->nr_files; i++)
		if (probes->files[i]->inode == visit->inode &&
		    probes->files[i]->device == visit->device)
			return probes->files[i];
	return NULL;
}

static struct probed_file *add_file(struct call_probes *probes, const struct sites_visit *visit)
{
	if (array_reserve(&probes->files, &probes->max_files, probes->nr_files + 1,
			  sizeof(*probes->files)))
		return NULL;
	struct probed_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->device = visit->device;
	file->inode = visit->inode;
	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		probe(probes, (enum call_program_kind)kind, file, visit);
	probes->files[probes->nr_files++] = file;
	return file;
}

static void drop_unused_files(struct call_probes *probes)
{
	uint32_t i = 0;

	while (i < probes->nr_files) {
		struct probed_file *file = probes->files[i];

		if (file->nr_users) {
			i++;
			continue;
		}
		drop_file(file);
		probes->files[i] = probes->files[--probes->nr_files];
	}
}

/* ---- what a process has mapped ------------------------------------------------------------------ */

static bool begins_with(const char *text, size_t size, const char *prefix)
{
	return size >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

enum cuda_library {
	CUDA_NONE,
	CUDA_RUNTIME,
	CUDA_DRIVER,
	CUDA_COLLECTIVE, /* NCCL, or PyTorch's own library, which may contain it */
};

/* Wheels put a hash into the runtime's name, so names are compared only up to it. */
static enum cuda_library library_of(const struct maps_file_entry *entry)
{
	const char *slash = memrchr(entry->path, '/', entry->path_size);
	const char *name = slash ? slash + 1 : entry->path;
	size_t size = entry->path_size - (size_t)(name - entry->path);

	if (begins_with(name, size, "libcudart.so") || begins_with(name, size, "libcudart-"))
		return CUDA_RUNTIME;
	if (begins_with(name, size, "libnccl.so") || begins_with(name, size, "libtorch_cuda.so"))
		return CUDA_COLLECTIVE;
	return begins_with(name, size, DRIVER) ? CUDA_DRIVER : CUDA_NONE;
}

static void use(struct prober *process, struct probed_file *file)
{
	for (uint32_t i = 0; i < process->nr_files; i++)
		if (process->files[i] == file)
			return;
	if (process->nr_files == PROCESS_FILES_MAX)
		return;
	file->nr_users++;
	process->files[process->nr_files++] = file;
}

static int visit_for_sites(const struct call_probes *probes, const struct mapped_file_view *view,
			   const struct maps_file_entry *entry, struct sites_visit **visit)
{
	bool wants[CALL_PROGRAM_KINDS];

	for (int kind = 0; kind < CALL_PROGRAM_KINDS; kind++)
		wants[kind] = probes->programs[kind];
	return sites_visit_make(view, entry, wants, visit);
}

static int use_mapping(struct call_probes *probes, struct prober *process,
		       const struct mapped_file_view *view, const struct maps_file_entry *entry)
{
	struct sites_visit *visit;
	struct probed_file *file = NULL;
	bool is_new = false;
	int r = sites_visit_make(view, entry, NULL, &visit);

	if (r == 0) {
		file = find_file(probes, visit);
		is_new = !file;
	}
	if (visit)
		sites_visit_end(visit);
	if (is_new) {
		r = visit_for_sites(probes, view, entry, &visit);
		/* Another file may be mapped at the address by now. */
		if (r == 0)
			file = find_file(probes, visit);
		if (r == 0 && !file) {
			file = add_file(probes, visit);
			r = file ? 0 : -ENOMEM;
		}
		if (visit)
			sites_visit_end(visit);
	}
	if (file)
		use(process, file);
	return r == -ENOMEM ? r : 0;
}

/* Files that another user may have made are opened only if we have started the job. */
static bool is_trusted(const struct call_probes *probes, pid_t pid)
{
	return probes->trusts_all || proc_file_is_ours(pid);
}

/* The kernel itself knows the inode, so no file system is asked, which might hang. */
static uint64_t executable_of(pid_t pid)
{
	char path[32];
	struct statx status;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &status)
		       ? 0
		       : status.stx_ino;
}

struct mappings {
	const char *text;
	size_t size;
	struct mapped_file_view view;
};

static int use_libraries(struct call_probes *probes, struct prober *process,
			 const struct mappings *mappings, enum cuda_library library)
{
	const char *text = mappings->text;
	size_t size = mappings->size;
	struct maps_file_entry entry;
	int r = 0;

	while (r == 0 && maps_file_next(&text, &size, &entry)) {
		if (!entry.executable || entry.path_size == 0 || library_of(&entry) != library)
			continue;
		r = use_mapping(probes, process, &mappings->view, &entry);
	}
	return r;
}

static int use_executable(struct call_probes *probes, struct prober *process,
			  const struct mappings *mappings)
{
	const char *text = mappings->text;
	size_t size = mappings->size;
	uint64_t inode = executable_of(process->pid);
	struct maps_file_entry entry;

	while (maps_file_next(&text, &size, &entry))
		if (entry.executable && entry.path_size && entry.inode == inode)
			return use_mapping(probes, process, &mappings->view, &entry);
	return 0;
}

static bool has_cuda(const struct mappings *mappings)
{
	const char *text = mappings->text;
	size_t size = mappings->size;
	struct maps_file_entry entry;

	while (maps_file_next(&text, &size, &entry))
		if (entry.path_size && library_of(&entry) != CUDA_NONE)
			return true;
	return false;
}

/* Returns the address of the first mapped file whose name has this prefix; 0: none is mapped. */
static uint64_t address_of(const char *text, size_t size, const char *prefix)
{
	struct maps_file_entry entry;

	while (maps_file_next(&text, &size, &entry)) {
		if (entry.path_size == 0)
			continue;
		const char *slash = memrchr(entry.path, '/', entry.path_size);
		const char *name = slash ? slash + 1 : entry.path;

		if (begins_with(name, entry.path_size - (size_t)(name - entry.path), prefix))
			return entry.start;
	}
	return 0;
}

/* A forked child has its parent's memory: the guest's library, and a CUDA that cannot work in a child. The library lies
 * at a random address, so the address tells whether the child has the parent's. A process with the library and no known
 * parent also counts as a child. */
static bool is_forked_guest(const struct prober *process, const struct mappings *mappings)
{
	uint64_t address = address_of(mappings->text, mappings->size, GUEST);
	char *text;
	size_t size;

	if (address == 0)
		return false;
	if (process->parent == 0 || proc_file_read(process->parent, "maps", MAPS_MAX, &text, &size))
		return true;
	bool same = size == 0 || address_of(text, size, GUEST) == address;
	free(text);
	return same;
}

/* Returns whether a guest can no longer be expected. */
static bool is_due(const struct call_probes *probes, struct prober *process,
		   const struct mappings *mappings, uint64_t now_ns)
{
	if (probes->scope.patience_ns == 0 || process->flags & WATCHED_NO_CAPTURE)
		return true;
	if (!address_of(mappings->text, mappings->size, DRIVER) ||
	    is_forked_guest(process, mappings)) {
		process->due_ns = 0;
		process->was_due = false;
		return false;
	}
	if (process->due_ns == 0)
		process->due_ns = now_ns + probes->scope.patience_ns;
	process->was_due |= now_ns >= process->due_ns;
	return process->was_due;
}

/* The driver comes last: otherwise the runtime's calls of the driver would count separately meanwhile. An executable
 * may contain the runtime, but never the driver. */
static int use_mappings(struct call_probes *probes, struct prober *process,
			const struct mappings *mappings, uint64_t now_ns)
{
	int r;

	if (!has_cuda(mappings) || !is_due(probes, process, mappings, now_ns))
		return 0;
	r = probes->scope.prepare(probes->scope.context, process->pid);
	if (r == 0)
		r = use_libraries(probes, process, mappings, CUDA_RUNTIME);
	if (r == 0)
		r = use_libraries(probes, process, mappings, CUDA_COLLECTIVE);
	if (r == 0)
		r = use_executable(probes, process, mappings);
	if (r == 0)
		r = use_libraries(probes, process, mappings, CUDA_DRIVER);
	return r;
}

/* Counts the new files before it drops the old count, so that files in both keep their probes. */
static int look_into(struct call_probes *probes, struct prober *process, uint64_t now_ns)
{
	struct prober before = *process;
	struct mappings mappings;
	uid_t user, effective;
	char *text;
	int r = is_trusted(probes, process->pid)
			? proc_file_read(process->pid, "maps", MAPS_MAX, &text, &mappings.size)
			: -EACCES;

	if (r)
		return r == -ENOMEM ? r : 0;
	process->nr_files = 0;
	mappings.text = text;
	proc_file_users(process->pid, &user, &effective);
	mapped_file_view_init(&mappings.view, process->pid, user,
			      proc_file_start_ticks(process->pid));
	r = use_mappings(probes, process, &mappings, now_ns);
	free(text);
	for (uint32_t i = 0; i < before.nr_files; i++)
		before.files[i]->nr_users--;
	return r;
}

/* Returns the kB of mapped code besides the executable. 0: the process is gone, or has no memory of its own. */
static uint64_t code_size(pid_t pid)
{
	uint64_t kb = 0;
	size_t size;
	char *status;

	if (proc_file_read(pid, "status", STATUS_MAX, &status, &size))
		return 0;
	const char *line = strstr(status, CODE_SIZE);
	if (line)
		kb = strtoull(line + strlen(CODE_SIZE), NULL, 10) + 1;
	free(status);
	return kb;
}

/* ---- processes ---------------------------------------------------------------------------------- */

static void forget_files(struct prober *process)
{
	for (uint32_t i = 0; i < process->nr_files; i++)
		process->files[i]->nr_users--;
	process->nr_files = 0;
	process->code_kb = 0;
}

static struct prober *get_process(struct call_probes *probes, pid_t pid, uint64_t start)
{
	for (uint32_t i = 0; i < probes->nr_processes; i++) {
		uint32_t at = (probes->cursor + i) % probes->nr_processes;
		struct prober *process = &probes->processes[at];

		if (process->pid != pid || process->start != start)
			continue;
		probes->cursor = at + 1;
		return process;
	}
	if (array_reserve(&probes->processes, &probes->max_processes, probes->nr_processes + 1,
			  sizeof(*probes->processes)))
		return NULL;
	struct prober *process = &probes->processes[probes->nr_processes++];
	*process = (struct prober){.pid = pid, .start = start};
	return process;
}

static int look_at(struct call_probes *probes, struct prober *process, uint64_t now_ns)
{
	uint64_t kb;
	int r = 0;

	if (now_ns < process->next_look_ns)
		return 0;
	kb = code_size(process->pid);
	bool due = process->due_ns && !process->was_due && now_ns >= process->due_ns;
	if (kb != process->code_kb || now_ns >= process->next_read_ns || due) {
		r = look_into(probes, process, now_ns);
		process->next_read_ns = now_ns + READ_AGAIN_NS;
	}
	process->code_kb = kb;
	process->next_look_ns = now_ns + (process->nr_files ? LOOK_AGAIN_NS : LOOK_NS);
	return r;
}

static void drop_gone(struct call_probes *probes)
{
	uint32_t i = 0;

	while (i < probes->nr_processes) {
		struct prober *process = &probes->processes[i];

		if (process->seen && process->code_kb) {
			i++;
			continue;
		}
		forget_files(process);
		if (!process->seen && probes->programs[CALL_PROGRAM_COLLECTIVE])
			call_program_forget(probes->programs[CALL_PROGRAM_COLLECTIVE],
					    process->pid);
		if (process->seen) /* a zombie, which may still leave the ring */
			i++;
		else
			*process = probes->processes[--probes->nr_processes];
	}
}

/* Takes new processes before it drops ended processes, since a child maps its parent's files. */
int call_probes_scan(struct call_probes *probes, uint64_t now_ns)
{
	struct watched watched;
	int r = 0;

	for (uint32_t i = 0; i < probes->nr_processes; i++)
		probes->processes[i].seen = false;
	for (pid_t pid = bpf_ring_next(probes->ring, 0, &watched); pid && r == 0;
	     pid = bpf_ring_next(probes->ring, pid, &watched)) {
		if (watched.flags & (WATCHED_CHILDREN_ONLY | WATCHED_HAS_GUEST))
			continue;
		struct prober *process = get_process(probes, pid, watched.start);
		if (!process)
			return -ENOMEM;
		process->seen = true;
		if (watched.flags != process->flags)
			process->next_read_ns = 0;
		process->flags = watched.flags;
		process->parent = (pid_t)watched.parent;
		r = look_at(probes, process, now_ns);
	}
	if (r)
		return r;
	drop_gone(probes);
	drop_unused_files(probes);
	return 0;
}
