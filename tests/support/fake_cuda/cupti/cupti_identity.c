/* What CUPTI answers about itself and about ids. */
#include <cupti.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cupti_build.h"
#include "cupti_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_context.h"
#include "sim/sim_graph.h"
#include "sim/sim_stream.h"

static _Atomic int thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

uint32_t cupti_build_version(void)
{
	return FAKE_CUPTI_BUILD == 130001 ? (uint32_t)sim_config_get(SIM_CUPTI_VERSION)
					  : FAKE_CUPTI_BUILD;
}

CUptiResult cupti_build_refusal(void)
{
	uint64_t newest = sim_config_get(SIM_CUPTI_NEWEST);

	if (cupti_build_version() < sim_config_get(SIM_CUPTI_OLDEST) ||
	    (newest && cupti_build_version() > newest))
		return CUPTI_ERROR_NOT_INITIALIZED;
	return (CUptiResult)sim_config_get(SIM_CUPTI_INIT_FAIL);
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = cupti_build_version();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	*timestamp = cupti_clock_now();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	const struct sim_context *found =
		context ? sim_context_check(context) : sim_context_current();

	if (!found)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*contextId = found->context_id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	const struct sim_context *found =
		context ? sim_context_check(context) : sim_context_current();

	if (!found)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*deviceId = (uint32_t)found->ordinal;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			       uint32_t *streamId)
{
	struct sim_context *found = context ? sim_context_check(context) : sim_context_current();

	if (!found)
		return CUPTI_ERROR_INVALID_CONTEXT;
	const struct sim_stream *resolved = sim_stream_resolve(found, stream, perThreadStream != 0);
	if (!resolved)
		return CUPTI_ERROR_INVALID_STREAM;
	*streamId = resolved->stream_id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	const struct sim_node *found = sim_graph_check_node(node);

	if (!found || !nodeId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*nodeId = found->node_id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	const struct sim_graph *found = sim_graph_check(graph);

	if (!found || !pId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*pId = found->graph_id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	const struct sim_graph_exec *found = sim_graph_check_exec(graphExec);

	if (!found || !pId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*pId = found->body.graph_id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	atomic_store(&thread_id_type, (int)type);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	*type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	static const struct {
		CUptiResult result;
		const char *text;
	} texts[] = {
		{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
		{CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
		{CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT"},
		{CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
		{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
		{CUPTI_ERROR_INVALID_STREAM, "CUPTI_ERROR_INVALID_STREAM"},
		{CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
		{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
		{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
		 "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
		{CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].result == result) {
			*str = texts[i].text;
			return CUPTI_SUCCESS;
		}
	}
	*str = "<unknown>";
	return CUPTI_ERROR_INVALID_PARAMETER;
}
