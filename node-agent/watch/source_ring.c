#include "source_ring.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf_options.h"
#include "sample_room.h"

/* Silences libbpf: an error is reported once, in our words. */
static int be_quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

/* Copies of stacks are large, and a program can make any number of calls. */
static uint32_t default_bytes(const struct bpf_options *options)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint32_t pages = options->stack_pages < SAMPLE_STACK_PAGES_MAX ? options->stack_pages
								       : SAMPLE_STACK_PAGES_MAX;
	uint32_t room = sample_room_bytes(options->cpu_hz, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
					  pages, memory);

	if (options->off_cpu_min_ns && room < SAMPLE_ROOM_WAITS && SAMPLE_ROOM_WAITS <= memory / 64)
		room = SAMPLE_ROOM_WAITS;
	if (options->host_calls && options->stack_pages && room < BPF_OPTIONS_CALLS_RING)
		return BPF_OPTIONS_CALLS_RING;
	return room;
}

int source_ring_create(const struct bpf_options *options, const char *lost, bpf_ring_event event,
		       void *context, struct bpf_ring **ring, char line[static BPF_RIGHTS_LINE_MAX])
{
	uint32_t asked = options->ring_bytes, bytes = asked ? asked : default_bytes(options);
	struct bpf_rights rights;
	const char *what;

	*ring = NULL;
	bpf_rights_read(&rights, "");
	if (bpf_rights_missing(&rights, lost, line))
		return -ECANCELED;
	libbpf_set_print(be_quiet);
	bpf_rights_raise_memory();
	int r = bpf_ring_create(bytes, event, context, ring, &what);
	/* If the user has chosen no size, a smaller buffer will do. */
	if (r && !asked && bytes > BPF_RING_SIZE_DEFAULT)
		r = bpf_ring_create(0, event, context, ring, &what);
	if (r == 0)
		return 0;
	bpf_rights_explain(what, r, lost, line);
	return -ECANCELED;
}
