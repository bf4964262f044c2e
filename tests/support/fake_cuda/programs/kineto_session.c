#include "kineto_session.h"

#include <cupti.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define BUFFER_BYTES (64u << 10)

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					   CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

static void begin_session(void);
static void end_session(void);
static void tear_down(void);

static struct kineto_session session = {begin_session, end_session, tear_down, {.subscribe = -1}};
static CUpti_SubscriberHandle subscriber;
static unsigned int nr_out; /* buffers that CUPTI has */
static unsigned long long seen;

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *data)
{
	(void)data;
	if (user == &session && domain == CUPTI_CB_DOMAIN_RESOURCE &&
	    cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		__atomic_fetch_add(&session.results.nr_created, 1, __ATOMIC_RELAXED);
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
	__atomic_fetch_add(&nr_out, 1, __ATOMIC_RELAXED);
}

/* Buffers are not freed: one may be somebody else's. */
static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	__atomic_fetch_sub(&nr_out, 1, __ATOMIC_RELAXED);
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;

		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    strcmp(kernel->name, "inside") == 0)
			__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
	}
}

/* PyTorch's from 2.4 on; it puts it there in each session, and leaves it. */
static uint64_t cycles(void)
{
	return __rdtsc();
}

static void subscribe_once(void)
{
	struct kineto_session_results *results = &session.results;

	if (results->subscribe != -1)
		return;
	results->subscribe = (int)cuptiSubscribe(&subscriber, on_callback, &session);
	if (results->subscribe != CUPTI_SUCCESS)
		return;
	results->created = (int)cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						    CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	results->destroyed = (int)cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						      CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}

static void begin_session(void)
{
	subscribe_once();
	if (session.results.subscribe != CUPTI_SUCCESS)
		return;
	cuptiActivityRegisterTimestampCallback(cycles);
	cuptiActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityEnable(kinds[i]);
}

static void end_session(void)
{
	if (session.results.subscribe != CUPTI_SUCCESS)
		return;
	bool any = __atomic_load_n(&nr_out, __ATOMIC_RELAXED);
	if (any)
		cuptiActivityFlushAll(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityDisable(kinds[i]);
	if (any)
		cuptiActivityFlushAll(1);
	session.results.recorded = any ? seen : 0;
}

/* The domains are those that it would wait in for a moment to finalize. */
static void tear_down(void)
{
	struct kineto_session_results *results = &session.results;

	if (results->subscribe != CUPTI_SUCCESS)
		return;
	results->resource_domain = (int)cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	results->runtime_domain =
		(int)cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	cuptiEnableAllDomains(0, subscriber);
	results->unsubscribe = (int)cuptiUnsubscribe(subscriber);
	results->finalize = (int)cuptiFinalize();
	results->subscribe = -1;
}

struct kineto_session *kineto_session_table(void)
{
	return &session;
}
