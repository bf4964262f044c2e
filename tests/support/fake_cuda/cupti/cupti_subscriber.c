#include "cupti_subscriber.h"

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "activity_kind.h"
#include "activity_resource.h"
#include "cupti_build.h"
#include "pc_sampling.h"
#include "sim/sim_config.h"
#include "sim/sim_context.h"
#include "sim/sim_trace.h"

#define DOMAINS   ((uint32_t)CUPTI_CB_DOMAIN_STATE + 1)
#define CBIDS_MAX 1024u

static const uint32_t nr_cbids[DOMAINS] = {
	[CUPTI_CB_DOMAIN_DRIVER_API] = CUPTI_DRIVER_TRACE_CBID_SIZE,
	[CUPTI_CB_DOMAIN_RUNTIME_API] = CUPTI_RUNTIME_TRACE_CBID_SIZE,
	[CUPTI_CB_DOMAIN_RESOURCE] = CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS + 1,
	[CUPTI_CB_DOMAIN_SYNCHRONIZE] = 8,
	[CUPTI_CB_DOMAIN_NVTX] = 128,
	[CUPTI_CB_DOMAIN_STATE] = 8,
};

/* The callback stays when the subscriber leaves, for threads that are just calling it. */
static struct {
	pthread_mutex_t lock;
	_Atomic bool taken;
	_Atomic(CUpti_CallbackFunc) callback;
	_Atomic(void *) userdata;
	uint32_t nr_enabled; /* under lock */
} subscriber = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool enabled[DOMAINS][CBIDS_MAX];
static _Atomic uint32_t nr_in_callbacks; /* threads */
static _Atomic bool afresh, left_within; /* since CUPTI was left */
static __thread bool in_callback;        /* what a callback calls is not reported */

static void deliver(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	CUpti_CallbackFunc callback =
		atomic_load_explicit(&subscriber.callback, memory_order_acquire);
	void *userdata = atomic_load_explicit(&subscriber.userdata, memory_order_relaxed);

	if (!callback || in_callback ||
	    !atomic_load_explicit(&subscriber.taken, memory_order_acquire))
		return;
	in_callback = true;
	atomic_fetch_add(&nr_in_callbacks, 1);
	callback(userdata, domain, cbid, data);
	atomic_fetch_sub(&nr_in_callbacks, 1);
	in_callback = false;
}

static bool report_call(struct sim_call *call, bool at_exit, void *result)
{
	if (!atomic_load_explicit(&enabled[call->domain][call->cbid], memory_order_relaxed))
		return false;
	const struct sim_context *context = sim_context_whole(sim_context_current());
	CUpti_CallbackData data = {
		.callbackSite = at_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = result,
		.symbolName = call->symbol,
		.context = (CUcontext)context,
		.contextUid = context ? context->context_id : 0,
		.correlationData = &call->correlation_data,
		.correlationId = call->correlation_id,
	};

	const bool launches = (int)call->domain == CUPTI_CB_DOMAIN_DRIVER_API &&
			      (call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
			       call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);

	if (launches && at_exit)
		pc_sampling_launch_ends();
	deliver((CUpti_CallbackDomain)call->domain, call->cbid, &data);
	if (launches && at_exit)
		pc_sampling_launch_over();
	else if (launches)
		pc_sampling_launch_begins();
	return true;
}

static void report_resource(uint32_t cbid, struct sim_context *context, struct sim_stream *stream,
			    void *descriptor)
{
	activity_resource_created(cbid, context, stream);
	CUpti_ResourceData data = {
		.context = (CUcontext)context,
		.resourceHandle.stream = (CUstream)stream,
		.resourceDescriptor = descriptor,
	};

	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		pc_sampling_context(cbid, context);
	if (atomic_load_explicit(&enabled[CUPTI_CB_DOMAIN_RESOURCE][cbid], memory_order_relaxed))
		deliver(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
	/* A subscriber may still look at the samples of a context that goes. */
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
		pc_sampling_context(cbid, context);
}

static const struct sim_tracer tracer = {
	.call_site = report_call,
	.resource = report_resource,
	.operation = activity_kind_record,
	.wants_graphs = activity_kind_graphs,
	.wants_kind = activity_kind_enabled,
	.allocation = activity_kind_allocation,
};

static void refresh_locked(void)
{
	sim_trace_set_tracer(subscriber.nr_enabled || activity_kind_any() ? &tracer : NULL);
}

void cupti_subscriber_refresh_tracer(void)
{
	pthread_mutex_lock(&subscriber.lock);
	refresh_locked();
	pthread_mutex_unlock(&subscriber.lock);
}

static void enable_locked(uint32_t domain, uint32_t cbid, bool enable)
{
	if (atomic_exchange(&enabled[domain][cbid], enable) != enable)
		subscriber.nr_enabled += enable ? 1 : (uint32_t)-1;
}

static void enable_domain_locked(uint32_t domain, bool enable)
{
	for (uint32_t cbid = 1; cbid < nr_cbids[domain]; cbid++)
		enable_locked(domain, cbid, enable);
}

static void disable_all_locked(void)
{
	for (uint32_t domain = 1; domain < DOMAINS; domain++)
		enable_domain_locked(domain, false);
}

/* As seen of CUPTI 13.0: a thread that stays inside a callback while CUPTI leaves crashes; one that passes does not. */
void cupti_subscriber_leave(void)
{
	for (int ms = 0; atomic_load(&nr_in_callbacks) > (in_callback ? 1u : 0u); ms++) {
		if (ms == 25)
			abort();
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	atomic_store(&left_within, in_callback);
	cupti_subscriber_reset();
	atomic_store(&afresh, true);
}

void cupti_subscriber_reset(void)
{
	pthread_mutex_lock(&subscriber.lock);
	disable_all_locked();
	atomic_store(&subscriber.taken, false);
	refresh_locked();
	pthread_mutex_unlock(&subscriber.lock);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			   void *userdata)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!handle)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*handle = NULL;
	if (cupti_build_refusal() != CUPTI_SUCCESS)
		return cupti_build_refusal();
	/* As seen of CUPTI 13.0: the first subscription waits for all GPU work, and crashes inside a callback that
	 * CUPTI was left from. */
	if (in_callback && atomic_load(&left_within))
		abort();
	if (atomic_exchange(&afresh, false))
		activity_kind_wait_for_work();
	pthread_mutex_lock(&subscriber.lock);
	if (atomic_load(&subscriber.taken) || sim_config_get(SIM_CUPTI_TAKEN)) {
		result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		atomic_store_explicit(&subscriber.userdata, userdata, memory_order_relaxed);
		atomic_store_explicit(&subscriber.callback, callback, memory_order_release);
		atomic_store_explicit(&subscriber.taken, true, memory_order_release);
		*handle = (CUpti_SubscriberHandle)(void *)&subscriber;
	}
	pthread_mutex_unlock(&subscriber.lock);
	return result;
}

#if CUPTI_BUILD_SUBSCRIBE_V2
/* Subscribes, or says who has. */
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *params)
{
	if (!params || params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;

	CUptiResult result = cuptiSubscribe(handle, callback, userdata);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params->oldSubscriberName &&
	    params->oldSubscriberSize > 0)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s",
			 sim_config_get(SIM_CUPTI_TAKEN) ? "Nsight Systems" : "CUPTI for unknown");
	return result;
}
#endif

static bool is_current(CUpti_SubscriberHandle handle)
{
	return (void *)handle == (void *)&subscriber && atomic_load(&subscriber.taken);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (!is_current(handle))
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti_subscriber_reset();
	return CUPTI_SUCCESS;
}

static bool exists(uint32_t domain, uint32_t cbid)
{
	return domain > 0 && domain < DOMAINS && cbid > 0 && cbid < nr_cbids[domain];
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!is_current(handle) || !exists((uint32_t)domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&subscriber.lock);
	enable_locked((uint32_t)domain, cbid, enable != 0);
	refresh_locked();
	pthread_mutex_unlock(&subscriber.lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
			      CUpti_CallbackDomain domain)
{
	if (!is_current(handle) || !exists((uint32_t)domain, 1))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&subscriber.lock);
	enable_domain_locked((uint32_t)domain, enable != 0);
	refresh_locked();
	pthread_mutex_unlock(&subscriber.lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	if (!is_current(handle))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&subscriber.lock);
	for (uint32_t domain = 1; domain < DOMAINS; domain++)
		enable_domain_locked(domain, enable != 0);
	refresh_locked();
	pthread_mutex_unlock(&subscriber.lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!enable || !is_current(handle) || !exists((uint32_t)domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = atomic_load(&enabled[domain][cbid]);
	return CUPTI_SUCCESS;
}
