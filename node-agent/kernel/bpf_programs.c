#include "bpf_programs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_ring.h"
#include "cpu_sample.skel.h"
#include "off_cpu.skel.h"

#define NS_PER_S 1000000000ull

struct bpf_programs {
	struct bpf_ring *ring;
	struct cpu_sample_bpf *cpu;  /* owns; NULL: not started */
	struct off_cpu_bpf *off_cpu; /* owns; NULL: not started */
	uint64_t wait_min_ns;        /* of off_cpu */
	struct bpf_link **ticks;     /* owns; one for each CPU; some are NULL */
	int nr_cpus;
	bool wants_python;
	int python_error;
};

struct bpf_programs *bpf_programs_create(struct bpf_ring *ring)
{
	struct bpf_programs *programs = calloc(1, sizeof(*programs));

	if (programs) {
		programs->ring = ring;
		programs->wants_python = true;
	}
	return programs;
}

void bpf_programs_set_python(struct bpf_programs *programs, bool wanted)
{
	programs->wants_python = wanted;
}

int bpf_programs_python(const struct bpf_programs *programs)
{
	return programs->python_error;
}

void bpf_programs_destroy(struct bpf_programs *programs)
{
	if (!programs)
		return;
	bpf_programs_stop(programs);
	cpu_sample_bpf__destroy(programs->cpu);
	off_cpu_bpf__destroy(programs->off_cpu);
	free(programs->ticks);
	free(programs);
}

static int set(const struct bpf_map *map, const struct sample_settings *settings)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(map), &zero, settings, BPF_ANY) ? -errno : 0;
}

/* ---- CPU samples -------------------------------------------------------------------------------- */

static int open_cpu(struct bpf_programs *programs)
{
	programs->cpu = cpu_sample_bpf__open();
	if (!programs->cpu)
		return -errno;
	programs->cpu->rodata->has_python = programs->wants_python;
	int r = bpf_ring_share(programs->ring, programs->cpu->obj);
	return r ? r : cpu_sample_bpf__load(programs->cpu);
}

static int load_cpu(struct bpf_programs *programs, uint64_t period_ns, uint32_t stack_pages)
{
	int r = open_cpu(programs);

	if (r && programs->wants_python) {
		const int error = r;

		programs->wants_python = false;
		cpu_sample_bpf__destroy(programs->cpu);
		r = open_cpu(programs);
		programs->python_error = r ? 0 : error;
	}
	return r ? r
		 : set(programs->cpu->maps.settings,
		       &(struct sample_settings){.period_ns = period_ns,
						 .stack_pages = stack_pages});
}

/* Each CPU has its own clock with one common period. -ENODEV: the CPU is off. */
static int tick(struct bpf_programs *programs, int cpu, uint64_t period_ns)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	programs->ticks[cpu] = bpf_program__attach_perf_event(programs->cpu->progs.on_tick, fd);
	if (programs->ticks[cpu])
		return 0; /* the link owns the descriptor */
	int r = -errno;
	close(fd);
	return r;
}

int bpf_programs_start_cpu(struct bpf_programs *programs, uint32_t hz, uint32_t stack_pages,
			   const char **what)
{
	int r, nr_ticks = 0;

	*what = "BPF: CPU samples";
	programs->nr_cpus = libbpf_num_possible_cpus();
	if (programs->nr_cpus < 0)
		return programs->nr_cpus;
	programs->ticks = calloc((size_t)programs->nr_cpus, sizeof(struct bpf_link *));
	if (!programs->ticks)
		return -ENOMEM;
	r = load_cpu(programs, NS_PER_S / hz, stack_pages);
	if (r)
		return r;
	*what = "perf_event_open";
	for (int cpu = 0; cpu < programs->nr_cpus; cpu++) {
		r = tick(programs, cpu, NS_PER_S / hz);
		if (r && r != -ENODEV)
			return r;
		nr_ticks += r == 0;
	}
	return nr_ticks ? 0 : -ENODEV;
}

/* ---- waits -------------------------------------------------------------------------------------- */

static int open_off_cpu(struct bpf_programs *programs)
{
	programs->off_cpu = off_cpu_bpf__open();
	if (!programs->off_cpu)
		return -errno;
	programs->off_cpu->rodata->has_python = programs->wants_python;
	int r = bpf_ring_share(programs->ring, programs->off_cpu->obj);
	return r ? r : off_cpu_bpf__load(programs->off_cpu);
}

static int load_off_cpu(struct bpf_programs *programs)
{
	int r = open_off_cpu(programs);

	if (r && programs->wants_python) {
		const int error = r;

		programs->wants_python = false;
		off_cpu_bpf__destroy(programs->off_cpu);
		r = open_off_cpu(programs);
		programs->python_error = r ? 0 : error;
	}
	return r;
}

int bpf_programs_start_off_cpu(struct bpf_programs *programs, uint64_t min_ns, uint32_t stack_pages,
			       const char **what)
{
	*what = "BPF: waits";
	int r = load_off_cpu(programs);

	if (r == 0)
		r = set(programs->off_cpu->maps.settings,
			&(struct sample_settings){.wait_min_ns = min_ns,
						  .stack_pages = stack_pages});
	if (r)
		return r;
	programs->wait_min_ns = min_ns;
	*what = "BPF: sched_wakeup";
	programs->off_cpu->links.on_wakeup =
		bpf_program__attach(programs->off_cpu->progs.on_wakeup);
	if (!programs->off_cpu->links.on_wakeup)
		return -errno;
	*what = "BPF: sched_switch";
	programs->off_cpu->links.on_switch =
		bpf_program__attach(programs->off_cpu->progs.on_switch);
	return programs->off_cpu->links.on_switch ? 0 : -errno;
}

int bpf_programs_open_waits(struct bpf_programs *programs, uint64_t now_ns,
			    int (*wait)(void *context, const struct sample_event *event),
			    void *context)
{
	struct sample_wait value;
	uint32_t key, next;
	uint32_t *last = NULL;

	if (!programs->off_cpu)
		return 0;
	int map = bpf_map__fd(programs->off_cpu->maps.waits);
	while (bpf_map_get_next_key(map, last, &next) == 0) {
		key = next;
		last = &key;
		if (bpf_map_lookup_elem(map, &key, &value) || value.since_ns == 0 ||
		    value.since_ns >= now_ns)
			continue;
		value.event.time_ns = now_ns;
		value.event.duration_ns = now_ns - value.since_ns;
		sample_event_set_queued(&value.event, value.woken_ns, programs->wait_min_ns);
		int r = wait(context, &value.event);
		if (r)
			return r;
	}
	return 0;
}

void bpf_programs_stop(struct bpf_programs *programs)
{
	for (int cpu = 0; programs->ticks && cpu < programs->nr_cpus; cpu++) {
		bpf_link__destroy(programs->ticks[cpu]);
		programs->ticks[cpu] = NULL;
	}
	if (programs->off_cpu)
		off_cpu_bpf__detach(programs->off_cpu);
}
