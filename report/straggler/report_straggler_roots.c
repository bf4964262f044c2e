#include "report_straggler_roots.h"

bool report_straggler_roots_has(uint32_t function)
{
	return function == COLLECTIVE_BROADCAST || function == COLLECTIVE_SCATTER;
}

void report_straggler_roots_add(struct report_straggler_rooted *rooted,
				const struct collective_sum *sum)
{
	rooted->calls += sum->numbered;
	rooted->gpu_calls += sum->gpu_calls;
	rooted->gpu_ns += sum->gpu_ns;
	rooted->host_ns += sum->total_ns;
}

static uint64_t time_of(const struct report_straggler_rooted *rooted, bool by_gpu)
{
	return by_gpu ? rooted->gpu_ns : rooted->host_ns;
}

bool report_straggler_roots_find(const struct report_straggler_communicator *of,
				 uint64_t *waited_ns)
{
	const uint64_t calls = of->members[0].rooted.calls;
	uint32_t least = 0;
	bool by_gpu = true;

	for (uint32_t i = 0; i < of->fold->nr_members; i++) {
		if (of->members[i].rooted.calls != calls)
			return false;
		by_gpu &= of->members[i].rooted.gpu_calls == calls;
	}
	if (!calls)
		return false;
	for (uint32_t i = 1; i < of->fold->nr_members; i++)
		if (time_of(&of->members[i].rooted, by_gpu) <
		    time_of(&of->members[least].rooted, by_gpu))
			least = i;
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		waited_ns[of->members[i].of_rank] = time_of(&of->members[i].rooted, by_gpu) -
						    time_of(&of->members[least].rooted, by_gpu);
	return true;
}
