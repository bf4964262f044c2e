#include "call_links.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "call_sites.h"
#include "collective.skel.h"
#include "host_call.skel.h"

#include "bpf/host_call.h"
#include "node-agent/kernel/bpf_ring.h"
#include "proto/collective.h"

/* Parts of linux/bpf.h of Linux 6.13, which some installed headers lack: values of enum bpf_attach_type, and the
 * members of union bpf_attr that create such a link. */
#define ATTACH_MULTI   48u
#define ATTACH_SESSION 57u
#define MULTI_RETURN   1u

struct link_attributes {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, reference_counters, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

/* Ending one single link waits for all CPUs; ending many at once takes no longer. */
#define CLOSERS_MAX 64u

/* Threads whose calls carry a stack's copy or Python frames: 25 MB. Calls of further threads carry addresses only. */
#define THREADS_MAX 1024u

struct call_program {
	/* owns; the skeleton of the program's kind */
	struct host_call_bpf *calls;
	struct collective_bpf *collectives;
	/* the object of the skeleton that is set */
	struct bpf_object *object;
	struct bpf_program *on_call;
	volatile int *is_silent;
	enum call_program_kind kind;
	enum call_links_way way;
	bool wants_python;
	uint32_t stack_pages;
	int python_error;
};

struct call_links {
	struct bpf_link **singles; /* owns the array and its links */
	int *fds;                  /* owns the array and its descriptors */
	uint32_t nr_singles, nr_fds;
};

/* ---- the program -------------------------------------------------------------------------------- */

static int create_link(const struct call_program *program, uint32_t attach_type,
		       const struct link_attributes *attributes)
{
	struct link_attributes own = *attributes;

	own.program_fd = (uint32_t)bpf_program__fd(program->on_call);
	own.attach_type = attach_type;
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &own, sizeof(own));
	return fd < 0 ? -errno : fd;
}

/* A kernel that supports the type answers EBADF for a folder. Others refuse the type before they read the path. */
static bool is_supported(const struct call_program *program, uint32_t attach_type)
{
	static const char folder[] = "/";
	uint64_t offset = 0;
	int r = create_link(program, attach_type,
			    &(struct link_attributes){.path = (uintptr_t)folder,
						      .offsets = (uintptr_t)&offset,
						      .count = 1});

	if (r >= 0)
		close(r);
	return r == -EBADF;
}

static void unload(struct call_program *program)
{
	host_call_bpf__destroy(program->calls);
	collective_bpf__destroy(program->collectives);
	program->calls = NULL;
	program->collectives = NULL;
}

/* A hash of the boot id, which no two hosts share. */
static uint64_t boot_key(void)
{
	char boot_id[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file && !fgets(boot_id, sizeof(boot_id), file))
		boot_id[0] = '\0';
	if (file)
		fclose(file);
	return collective_hash(COLLECTIVE_HASH_START, boot_id, strlen(boot_id));
}

static int open_calls(struct call_program *program)
{
	const bool has_stacks = program->wants_python || program->stack_pages;

	program->calls = host_call_bpf__open();
	if (!program->calls)
		return -errno;
	program->object = program->calls->obj;
	program->on_call = program->calls->progs.on_call;
	program->calls->rodata->answer_ignored = program->way == CALL_LINKS_SESSION;
	program->calls->rodata->has_python = program->wants_python;
	program->calls->rodata->stack_pages = program->stack_pages;
	bpf_map__set_max_entries(program->calls->maps.call_stacks, has_stacks ? THREADS_MAX : 1);
	bpf_program__set_autoload(program->calls->progs.on_thread_end, has_stacks);
	return 0;
}

static int open_collectives(struct call_program *program)
{
	program->collectives = collective_bpf__open();
	if (!program->collectives)
		return -errno;
	program->object = program->collectives->obj;
	program->on_call = program->collectives->progs.on_call;
	program->collectives->rodata->answer_ignored = program->way == CALL_LINKS_SESSION;
	program->collectives->rodata->boot_key = boot_key();
	return 0;
}

static int open_program(struct call_program *program, const struct bpf_ring *ring,
			uint32_t attach_type)
{
	int r = program->kind == CALL_PROGRAM_CUDA ? open_calls(program)
						   : open_collectives(program);

	if (r)
		return r;
	if (attach_type)
		bpf_program__set_expected_attach_type(program->on_call,
						      (enum bpf_attach_type)attach_type);
	return bpf_ring_share(ring, program->object);
}

static int load_object(struct call_program *program)
{
	int r;

	if (program->kind == CALL_PROGRAM_CUDA) {
		r = host_call_bpf__load(program->calls);
		program->is_silent = r ? NULL : &program->calls->bss->is_silent;
		return r;
	}
	r = collective_bpf__load(program->collectives);
	program->is_silent = r ? NULL : &program->collectives->bss->is_silent;
	return r;
}

static int start_program(struct call_program *program)
{
	if (program->kind != CALL_PROGRAM_CUDA || (!program->wants_python && !program->stack_pages))
		return 0;
	program->calls->links.on_thread_end =
		bpf_program__attach(program->calls->progs.on_thread_end);
	return program->calls->links.on_thread_end ? 0 : -errno;
}

static int load(struct call_program *program, const struct bpf_ring *ring)
{
	static const uint32_t types[] = {
		[CALL_LINKS_SESSION] = ATTACH_SESSION,
		[CALL_LINKS_MULTI] = ATTACH_MULTI,
		[CALL_LINKS_SINGLE] = 0,
	};
	uint32_t type = types[program->way];
	int r = open_program(program, ring, type);

	if (r == 0)
		r = load_object(program);
	if (r == 0 && type && !is_supported(program, type))
		r = -EOPNOTSUPP;
	if (r == 0)
		r = start_program(program);
	if (r)
		unload(program);
	return r;
}

static int load_best(struct call_program *program, const struct bpf_ring *ring,
		     enum call_links_way way)
{
	int r = -EOPNOTSUPP;

	if (way != CALL_LINKS_BEST) {
		program->way = way;
		return load(program, ring);
	}
	for (enum call_links_way one = CALL_LINKS_SESSION; r && one <= CALL_LINKS_SINGLE; one++) {
		program->way = one;
		r = load(program, ring);
	}
	return r;
}

int call_program_create(struct bpf_ring *ring, enum call_program_kind kind,
			const struct call_program_options *options, struct call_program **program,
			const char **what)
{
	struct call_program *new_program = calloc(1, sizeof(*new_program));

	*what = "BPF: calls";
	*program = NULL;
	if (!new_program)
		return -ENOMEM;
	new_program->kind = kind;
	new_program->wants_python = options->wants_python;
	new_program->stack_pages = options->stack_pages;
	int r = load_best(new_program, ring, options->way);
	if (r && options->wants_python) {
		new_program->wants_python = false;
		new_program->python_error = r;
		r = load_best(new_program, ring, options->way);
	}
	if (r)
		call_program_destroy(new_program);
	else
		*program = new_program;
	return r;
}

int call_program_python(const struct call_program *program)
{
	return program->python_error;
}

void call_program_destroy(struct call_program *program)
{
	if (!program)
		return;
	unload(program);
	free(program);
}

/* The key is laid out as in the BPF program. A search of all keys is cheap enough, since a process ends only once. */
void call_program_forget(struct call_program *program, pid_t pid)
{
	struct {
		uint64_t process_start, handle;
		uint32_t pid, exec_id;
	} key, next;

	if (program->kind != CALL_PROGRAM_COLLECTIVE)
		return;
	int fd = bpf_map__fd(program->collectives->maps.communicators);
	int r = bpf_map_get_next_key(fd, NULL, &next);
	while (r == 0) {
		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		if (key.pid == (uint32_t)pid)
			bpf_map_delete_elem(fd, &key);
	}
}

void call_program_silence(struct call_program *program)
{
	*program->is_silent = 1;
}

/* ---- links -------------------------------------------------------------------------------------- */

/* Links the functions [from, from + count) at once. Returns the link's descriptor or -errno. */
static int link_some(const struct call_program *program, const char *path,
		     const struct call_sites *sites, uint32_t from, uint32_t count, bool returns)
{
	uint64_t cookies[CALL_SITES_MAX];

	for (uint32_t i = 0; i < count; i++)
		cookies[i] = sites->functions[from + i] | (returns ? HOST_CALL_RETURN : 0);
	return create_link(program,
			   program->way == CALL_LINKS_SESSION ? ATTACH_SESSION : ATTACH_MULTI,
			   &(struct link_attributes){
				   .path = (uintptr_t)path,
				   .offsets = (uintptr_t)&sites->offsets[from],
				   .cookies = (uintptr_t)cookies,
				   .count = count,
				   .multi_flags = returns ? MULTI_RETURN : 0,
			   });
}

/* Links the returns first: an entry without its return would leave calls open. */
static int link_range(struct call_links *links, const struct call_program *program,
		      const char *path, const struct call_sites *sites, uint32_t from,
		      uint32_t count)
{
	bool pairs = program->way == CALL_LINKS_MULTI;
	int returns = pairs ? link_some(program, path, sites, from, count, true) : 0;
	int entries = returns < 0 ? returns : link_some(program, path, sites, from, count, false);

	if (pairs && returns >= 0 && entries < 0)
		close(returns);
	if (entries < 0)
		return entries;
	links->fds[links->nr_fds++] = entries;
	if (pairs)
		links->fds[links->nr_fds++] = returns;
	return 0;
}

static int link_single(struct call_links *links, const struct call_program *program,
		       const char *path, uint64_t offset, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie,
		    .retprobe = (cookie & HOST_CALL_RETURN) != 0);
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(program->on_call, -1, path, offset, &options);

	if (!link)
		return -errno;
	links->singles[links->nr_singles++] = link;
	return 0;
}

static int link_pair(struct call_links *links, const struct call_program *program, const char *path,
		     const struct call_sites *sites, uint32_t i)
{
	int r = link_single(links, program, path, sites->offsets[i],
			    sites->functions[i] | HOST_CALL_RETURN);

	return r ? r : link_single(links, program, path, sites->offsets[i], sites->functions[i]);
}

/* Links all functions at once. If that fails, links each by itself, so that only refused functions are lost. */
static int link_all(struct call_links *links, const struct call_program *program, const char *path,
		    const struct call_sites *sites, uint32_t *nr_failed)
{
	int r = program->way == CALL_LINKS_SINGLE
			? -EOPNOTSUPP
			: link_range(links, program, path, sites, 0, sites->count);

	if (r == 0)
		return 0;
	for (uint32_t i = 0; i < sites->count; i++) {
		r = program->way == CALL_LINKS_SINGLE
			    ? link_pair(links, program, path, sites, i)
			    : link_range(links, program, path, sites, i, 1);
		*nr_failed += r != 0;
		if (r == -ENOMEM || r == -EMFILE)
			break;
	}
	return links->nr_fds || links->nr_singles ? 0 : r;
}

int call_links_create(struct call_program *program, int fd, const struct call_sites *sites,
		      uint32_t *nr_failed, struct call_links **links)
{
	struct call_links *new_links = calloc(1, sizeof(*new_links));
	char path[32];
	int r = -ENOMEM;

	*nr_failed = 0;
	*links = NULL;
	if (!new_links)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	new_links->fds = calloc(2ul * sites->count + 1, sizeof(*new_links->fds));
	new_links->singles = calloc(2ul * sites->count + 1, sizeof(*new_links->singles));
	if (new_links->fds && new_links->singles)
		r = link_all(new_links, program, path, sites, nr_failed);
	if (r)
		call_links_destroy(new_links);
	else
		*links = new_links;
	return r;
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void *close_single(void *argument)
{
	bpf_link__destroy(argument);
	return NULL;
}

static void close_singles(const struct call_links *links)
{
	pthread_t closers[CLOSERS_MAX];

	for (uint32_t i = 0; i < links->nr_singles;) {
		uint32_t count = 0;

		for (; count < CLOSERS_MAX && i + count < links->nr_singles; count++)
			if (pthread_create(&closers[count], NULL, close_single,
					   links->singles[i + count]))
				break;
		if (count == 0)
			close_single(links->singles[i++]);
		for (uint32_t j = 0; j < count; j++)
			pthread_join(closers[j], NULL);
		i += count;
	}
}

void call_links_destroy(struct call_links *links)
{
	if (!links)
		return;
	for (uint32_t i = 0; i < links->nr_fds; i++)
		close(links->fds[i]);
	if (links->singles)
		close_singles(links);
	free(links->fds);
	free(links->singles);
	free(links);
}
