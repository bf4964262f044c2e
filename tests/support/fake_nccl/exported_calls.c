/* Public functions that communicate. */
#include "comm.h"
#include "exported.h"
#include "group.h"
#include "profiler.h"
#include "truth.h"

static ncclResult_t run(struct truth_call *call, ncclRedOp_t op, cudaStream_t stream)
{
	call->start_ns = truth_now_ns();
	if (!call->comm || call->data_type < 0 || call->data_type >= ncclNumTypes)
		call->result = ncclInvalidArgument;
	else
		call->result = group_launch(&(struct profiler_task){
			.comm = (ncclComm_t)call->comm,
			.function = call->function,
			.data_type = call->data_type,
			.op = (int)op,
			.count = call->count,
			.bytes = call->count * truth_type_size(call->data_type),
			.peer = call->peer,
			.stream = stream});
	return call->result;
}

static ncclResult_t call(enum fake_function function, size_t count, ncclDataType_t datatype,
			 ncclRedOp_t op, int peer, ncclComm_t comm, cudaStream_t stream)
{
	struct truth_call made = {.comm = comm,
				  .function = function,
				  .data_type = (int)datatype,
				  .peer = peer,
				  .count = count};

	truth_enter();
	ncclResult_t result = run(&made, op, stream);
	truth_write_call(&made);
	truth_leave();
	return result;
}

/* As NCCL 2.18 does it: a group of public calls within. */
static ncclResult_t call_in_group(enum fake_function function, size_t count,
				  ncclDataType_t datatype, int peer, ncclComm_t comm,
				  cudaStream_t stream)
{
	struct truth_call made = {.comm = comm,
				  .function = function,
				  .data_type = (int)datatype,
				  .peer = peer,
				  .count = count};

	truth_enter();
	ncclGroupStart();
	ncclResult_t result = run(&made, ncclSum, stream);
	ncclGroupEnd();
	truth_write_call(&made);
	truth_leave();
	return result;
}

EXPORTED(ncclReduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_REDUCE, count, datatype, op, root, comm, stream);
}

EXPORTED(ncclBroadcast, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_BROADCAST, count, datatype, ncclSum, root, comm, stream);
}

/* A public call within a public call. */
EXPORTED(ncclBcast, void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
	 cudaStream_t stream)
{
	return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

EXPORTED(ncclAllReduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_ALL_REDUCE, count, datatype, op, -1, comm, stream);
}

EXPORTED(ncclReduceScatter, const void *sendbuff, void *recvbuff, size_t recvcount,
	 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_REDUCE_SCATTER, recvcount, datatype, op, -1, comm, stream);
}

EXPORTED(ncclAllGather, const void *sendbuff, void *recvbuff, size_t sendcount,
	 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_ALL_GATHER, sendcount, datatype, ncclSum, -1, comm, stream);
}

EXPORTED(ncclAlltoAll, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_ALL_TO_ALL, count, datatype, ncclSum, -1, comm, stream);
}

EXPORTED(ncclGather, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_GATHER, count, datatype, ncclSum, root, comm, stream);
}

EXPORTED(ncclScatter, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff, (void)recvbuff;
	return call(FAKE_SCATTER, count, datatype, ncclSum, root, comm, stream);
}

EXPORTED(ncclSend, const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
	 ncclComm_t comm, cudaStream_t stream)
{
	(void)sendbuff;
	return call_in_group(FAKE_SEND, count, datatype, peer, comm, stream);
}

EXPORTED(ncclRecv, void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
	 cudaStream_t stream)
{
	(void)recvbuff;
	return call_in_group(FAKE_RECV, count, datatype, peer, comm, stream);
}
