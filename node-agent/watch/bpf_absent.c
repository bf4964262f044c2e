/* Implements bpf_source.h in a build without BPF. */
#include "bpf_source.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "bpf_options.h"

#define ABSENT "BPF was not built in"

bool bpf_source_missing(const char *lost, char line[static BPF_SOURCE_LINE_MAX])
{
	snprintf(line, BPF_SOURCE_LINE_MAX, ABSENT ": %s", lost);
	return true;
}

int bpf_source_create(const struct bpf_options *options, const struct bpf_source_scope *scope,
		      struct bpf_source **source)
{
	*source = NULL;
	if (options->cpu_hz || options->off_cpu_min_ns || options->host_calls)
		scope->notice(scope->context, ABSENT ": nothing of host threads");
	return options->required ? -EPERM : 0;
}

void bpf_source_destroy(struct bpf_source *source)
{
	(void)source;
}

int bpf_source_watch(struct bpf_source *source, pid_t pid, enum bpf_source_watch what)
{
	(void)source;
	(void)pid;
	(void)what;
	return 0;
}

int bpf_source_claim(struct bpf_source *source, pid_t pid, uint32_t *process_id)
{
	(void)source;
	(void)pid;
	*process_id = 0;
	return 0;
}

int bpf_source_attach(struct bpf_source *source, pid_t pid, struct guest_process *guest)
{
	(void)source;
	(void)pid;
	(void)guest;
	return 0;
}

void bpf_source_set_blocked(struct bpf_source *source, const struct guest_process *guest,
			    bool blocked)
{
	(void)source;
	(void)guest;
	(void)blocked;
}

void bpf_source_refuse(struct bpf_source *source, pid_t pid)
{
	(void)source;
	(void)pid;
}

void bpf_source_account(struct bpf_source *source, const struct guest_process *guest)
{
	(void)source;
	(void)guest;
}

void bpf_source_detach(struct bpf_source *source, const struct guest_process *guest)
{
	(void)source;
	(void)guest;
}

bool bpf_source_is_read(struct bpf_source *source, const struct guest_process *guest)
{
	(void)source;
	(void)guest;
	return true;
}

bool bpf_source_misses_code(const struct bpf_source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
	return false;
}

bool bpf_source_is_urgent(struct bpf_source *source)
{
	(void)source;
	return false;
}

int bpf_source_pass(struct bpf_source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
	return 0;
}

int bpf_source_stop(struct bpf_source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
	return 0;
}

uint32_t bpf_source_probed_files(const struct bpf_source *source)
{
	(void)source;
	return 0;
}

uint64_t bpf_source_samples(const struct bpf_source *source)
{
	(void)source;
	return 0;
}
