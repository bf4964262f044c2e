#include "callback_dispatch.h"

#include <stdbool.h>
#include <stddef.h>

#include "inject/base/launch_word.h"
#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/beside/shared_subscriber.h"
#include "inject/capture/graph_callback.h"
#include "inject/cupti/context_count.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/stream_names.h"
#include "inject/launch/api_statistics.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_thread.h"
#include "inject/launch/window_word.h"
#include "inject/metrics/capture_calls.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/sampling/cubin_copies.h"
#include "inject/sampling/exact_windows.h"
#include "inject/sampling/kernel_sampler.h"
#include "inject/sampling/launch_gate.h"
#include "inject/window/capture_window.h"
#include "inject/window/window_callback.h"
#include "proto/launch_path.h"
#include "proto/options/record_options.h"

static LAUNCH_WORD _Alignas(64) struct callback_dispatch_parts self;

void callback_dispatch_init(const struct callback_dispatch_parts *parts)
{
	self = *parts;
}

void callback_dispatch_set_window(uint16_t window)
{
	self.launch.window = window;
}

void callback_dispatch_mark(enum record_mark mark, uint32_t number)
{
	if (lifecycle_state() == LIFECYCLE_ON && self.record & RECORD_OPTION_MARKS &&
	    capture_window_is_open())
		launch_callback_mark(&self.launch, mark, number);
}

/* Notes a context's device, because records of waits and of loaded code name only the context. */
static void learn_device(const struct cupti_resource_data *data)
{
	uint32_t context_id, device_id;

	if (!self.library->get_context_id || !self.library->get_device_id ||
	    self.library->get_context_id(data->context, &context_id) != CUPTI_ABI_SUCCESS ||
	    self.library->get_device_id(data->context, &device_id) != CUPTI_ABI_SUCCESS)
		return;
	context_count_created(device_id);
	if (self.record & RECORD_OPTION_STALLS)
		kernel_sampler_context(data->context, device_id);
	if (self.record & (RECORD_OPTION_SYNC | RECORD_OPTION_OVERHEAD | RECORD_OPTION_MODULES))
		context_devices_put(context_id, device_id);
}

static void take_module(const struct cupti_module_data *module)
{
	if (module && module->cubin && kernel_sampler_needs_code())
		cubin_copies_take(self.launch.ring, module->cubin, module->cubin_size);
}

static void on_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
	switch (cbid) {
	case CUPTI_ABI_RESOURCE_INIT_FINISHED:
		self.events->init_finished();
		break;
	case CUPTI_ABI_RESOURCE_CONTEXT_CREATED:
		learn_device(data);
		self.events->context_created();
		break;
	case CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED:
		kernel_sampler_forget(data->context);
		if (self.record & RECORD_OPTION_METRICS)
			kernel_metrics_forget(data->context);
		break;
	case CUPTI_ABI_RESOURCE_MODULE_LOADED:
		take_module(data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_STREAM_CREATED:
		stream_names_created(data);
		break;
	case CUPTI_ABI_RESOURCE_STREAM_DESTROYED:
		stream_names_destroyed(data);
		break;
	case CUPTI_ABI_RESOURCE_NODE_CREATED:
		graph_callback_created(&self.launch, self.library, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_NODE_UPDATED:
		graph_callback_updated(&self.launch, self.library, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_NODE_CLONED:
		graph_callback_copied(&self.launch, self.library, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_GRAPH_CREATED:
	case CUPTI_ABI_RESOURCE_NODE_DESTROYED:
	case CUPTI_ABI_RESOURCE_EXEC_STARTING:
	case CUPTI_ABI_RESOURCE_EXEC_CREATED:
	case CUPTI_ABI_RESOURCE_EXEC_DESTROYED:
		graph_callback_changed(&self.launch, self.library, cbid, data->descriptor);
		break;
	default:
		break;
	}
}

/* A call that matters for the window's end may be a launch or not. */
static LAUNCH_PATH void handle_driver_call(uint32_t cbid, const struct cupti_callback_data *call)
{
	bool enter = call->site == CUPTI_ABI_API_ENTER;
	const bool metrics = __builtin_expect(self.record & RECORD_OPTION_METRICS, 0);

	/* A window may have ended since the launch began. */
	if (metrics && !enter)
		kernel_metrics_exit(cbid, call);
	if (metrics && capture_calls_have(cbid)) {
		if (enter)
			kernel_metrics_enter(&self.launch, cbid, call);
		return;
	}
	if (!window_word_is_plain() &&
	    !(enter ? window_callback_enter(cbid, call) : window_callback_exit(cbid, call))) {
		if (__builtin_expect(graph_callback_is_launch(cbid), 0))
			graph_callback_launched(&self.launch, self.library, call, false);
		return;
	}
	if (enter)
		launch_callback_enter(&self.launch, cbid, call);
	else if (__builtin_expect(self.record & RECORD_OPTION_STALLS, 0) && call->context)
		kernel_sampler_meet(call->context);
	if (__builtin_expect(graph_callback_is_launch(cbid), 0))
		graph_callback_launched(&self.launch, self.library, call, true);
	if (!enter)
		launch_callback_exit(&self.launch, cbid, call);
	else if (metrics)
		kernel_metrics_enter(&self.launch, cbid, call);
}

/* A launch while kernels are sampled: it waits while a session ends, and may open or close an exact window. */
static __attribute__((noinline)) void on_sampled_call(uint32_t cbid,
						      const struct cupti_callback_data *call)
{
	const bool enter = call->site == CUPTI_ABI_API_ENTER;
	const bool launches = launch_cbid_is_launch(cbid);

	if (enter && launches)
		launch_gate_enter();
	else if (launches && exact_windows_are_wanted())
		kernel_sampler_exit(call->context, call->correlation_id);
	handle_driver_call(cbid, call);
	if (enter && launches && exact_windows_are_wanted()) {
		const struct launch_thread *thread =
			launch_thread_own(self.launch.ring, monotonic_ns());
		const bool has_stack =
			thread && thread->outer_correlation_id == call->correlation_id;
		const struct exact_launch launch = {has_stack ? thread->outer_stack_id : 0, cbid};

		kernel_sampler_enter(call->context, call->correlation_id,
				     has_stack ? &launch : NULL, cbid, call->symbol_name);
	}
	if (!enter && launches)
		launch_gate_exit();
}

static LAUNCH_PATH void on_driver_call(uint32_t cbid, const struct cupti_callback_data *call)
{
	if (__builtin_expect(self.record & RECORD_OPTION_STALLS, 0))
		on_sampled_call(cbid, call);
	else
		handle_driver_call(cbid, call);
}

/* Counts a call and handles a launch, so that the guest's work for the launch lies outside of the counted time. */
static void on_counted_call(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call)
{
	bool launch = domain == CUPTI_ABI_DOMAIN_DRIVER &&
		      (api_statistics_is_launch(cbid) || !window_word_is_plain() ||
		       (self.record & RECORD_OPTION_METRICS && capture_calls_have(cbid)));

	if (window_word_is_between()) {
		if (domain == CUPTI_ABI_DOMAIN_DRIVER)
			on_driver_call(cbid, call);
		return;
	}

	if (call->site == CUPTI_ABI_API_ENTER) {
		if (launch)
			on_driver_call(cbid, call);
		api_statistics_enter(domain, cbid, call);
	} else {
		api_statistics_exit(domain, cbid, call);
		if (launch)
			on_driver_call(cbid, call);
	}
}

static void on_state(uint32_t cbid)
{
	if (cbid != CUPTI_ABI_STATE_FATAL_ERROR ||
	    !shared_subscriber_is_ours(CUPTI_ABI_DOMAIN_STATE, cbid))
		return;
	shared_subscriber_lost();
	self.events->failed();
}

LAUNCH_PATH void callback_dispatch_receive(void *user, uint32_t domain, uint32_t cbid,
					   const void *data)
{
	(void)user;
	if (lifecycle_state() != LIFECYCLE_ON) {
		if (lifecycle_state() != LIFECYCLE_FORKED)
			shared_subscriber_forward(domain, cbid, data);
		return;
	}
	if (__builtin_expect(api_statistics_on, 0) && domain <= CUPTI_ABI_DOMAIN_RUNTIME) {
		on_counted_call(domain, cbid, data);
	} else if (domain == CUPTI_ABI_DOMAIN_DRIVER) {
		on_driver_call(cbid, data);
	} else if (domain == CUPTI_ABI_DOMAIN_RESOURCE) {
		if (shared_subscriber_is_ours(domain, cbid))
			on_resource(cbid, data);
		shared_subscriber_forward(domain, cbid, data);
	} else if (domain == CUPTI_ABI_DOMAIN_STATE) {
		on_state(cbid);
		shared_subscriber_forward(domain, cbid, data);
	}
}
