#include "strip_part.h"

enum strip_part strip_part_of(struct nccl_names *names, const struct nccl_waits *nccl,
			      const struct timeline_work *work, uint64_t *wait_ns)
{
	*wait_ns = 0;
	if (work->kind == RECORD_GPU_GRAPH)
		return STRIP_GRAPHS;
	if (work->kind != RECORD_GPU_KERNEL)
		return STRIP_COPIES;
	if (!nccl_names_have(names, work->name_id))
		return STRIP_COMPUTE;
	return nccl && nccl_waits_find(nccl, work->process_id, work->correlation_id,
				       work->end_ns - work->start_ns, wait_ns)
		       ? STRIP_NCCL_MOVES
		       : STRIP_NCCL;
}
