/* Public functions that make and end communicators, and groups. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "comm.h"
#include "exported.h"
#include "group.h"
#include "meeting.h"
#include "truth.h"

EXPORTED(ncclGetVersion, int *version)
{
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

EXPORTED(ncclGetUniqueId, ncclUniqueId *uniqueId)
{
	memset(uniqueId, 0, sizeof(*uniqueId));
	return getrandom(uniqueId, 36, 0) == 36 ? ncclSuccess : ncclSystemError;
}

const char *ncclGetErrorString(ncclResult_t result)
{
	return result == ncclSuccess ? "no error" : "an error of fake NCCL";
}

/* As NCCL does: the handle is there at once, also in a group. */
static ncclResult_t init_rank(ncclComm_t *comm, int nranks, uint64_t key, int rank, int device)
{
	if (!comm || nranks < 1 || rank < 0 || rank >= nranks || nranks > (int)MEETING_RANKS_MAX)
		return ncclInvalidArgument;
	struct ncclComm *made = comm_create();
	if (!made)
		return ncclSystemError;
	made->key = key;
	made->rank = (uint32_t)rank;
	made->nr_ranks = (uint32_t)nranks;
	made->device = device;
	*comm = made;
	truth_write_communicator(made);
	return group_make(&(struct group_job){.comm = made});
}

static ncclResult_t init_rank_here(ncclComm_t *comm, int nranks, uint64_t key, int rank)
{
	int device;

	if (cudaGetDevice(&device))
		return ncclUnhandledCudaError;
	return init_rank(comm, nranks, key, rank, device);
}

EXPORTED(ncclCommInitRank, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
	return init_rank_here(comm, nranks, comm_hash(&commId, sizeof(commId)), rank);
}

EXPORTED(ncclCommInitRankConfig, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
	 ncclConfig_t *config)
{
	(void)config;
	return init_rank_here(comm, nranks, comm_hash(&commId, sizeof(commId)), rank);
}

EXPORTED(ncclCommInitRankScalable, ncclComm_t *newcomm, int nranks, int myrank, int nId,
	 ncclUniqueId *commIds, ncclConfig_t *config)
{
	(void)config;
	return nId < 1 ? ncclInvalidArgument
		       : init_rank_here(newcomm, nranks, comm_hash(commIds, sizeof(*commIds)),
					myrank);
}

EXPORTED(ncclCommInitAll, ncclComm_t *comm, int ndev, const int *devlist)
{
	ncclUniqueId id;
	ncclResult_t result = pncclGetUniqueId(&id), ended;

	group_start(false);
	for (int i = 0; i < ndev && result == ncclSuccess; i++)
		result = init_rank(&comm[i], ndev, comm_hash(&id, sizeof(id)), i,
				   devlist ? devlist[i] : i);
	ended = group_end();
	return result ? result : ended;
}

EXPORTED(ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
	 ncclConfig_t *config)
{
	(void)config;
	if (!comm || !newcomm || color < NCCL_SPLIT_NOCOLOR)
		return ncclInvalidArgument;
	return group_make(&(struct group_job){.parent = comm,
					      .split = ++comm->nr_splits,
					      .color = color,
					      .key = key,
					      .newcomm = newcomm});
}

EXPORTED(ncclCommFinalize, ncclComm_t comm)
{
	return comm ? ncclSuccess : ncclInvalidArgument;
}

EXPORTED(ncclCommDestroy, ncclComm_t comm)
{
	if (comm)
		comm_destroy(comm);
	return ncclSuccess;
}

EXPORTED(ncclCommAbort, ncclComm_t comm)
{
	if (comm)
		comm_destroy(comm);
	return ncclSuccess;
}

EXPORTED(ncclCommCount, const ncclComm_t comm, int *count)
{
	*count = (int)comm->nr_ranks;
	return ncclSuccess;
}

EXPORTED(ncclCommUserRank, const ncclComm_t comm, int *rank)
{
	*rank = (int)comm->rank;
	return ncclSuccess;
}

EXPORTED(ncclGroupStart, void)
{
	group_start(!truth_is_within());
	return ncclSuccess;
}

EXPORTED(ncclGroupEnd, void)
{
	uint64_t number = group_number(), start_ns = group_start_ns();

	truth_enter();
	ncclResult_t result = group_end();
	if (number && group_depth() == 0)
		truth_write_group(number, start_ns, result);
	truth_leave();
	return result;
}
