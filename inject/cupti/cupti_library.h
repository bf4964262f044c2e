/* Holds the functions of the CUPTI that this process maps, resolved one by one. All calls of CUPTI go through this
 * plain table. It is filled once, on the thread that loads the guest; all threads read it afterwards. */
#ifndef CUPTI_LIBRARY_H
#define CUPTI_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"
#include "cupti_sampling_abi.h"
#include "metrics_library.h"

struct cupti_library {    /* each function returns a CUptiResult */
	uint32_t version; /* cuptiGetVersion(): 19 is 12.0, 130001 is 13.0 Update 1 */
	int (*get_version)(uint32_t *version);
	int (*subscribe)(void **subscriber, cupti_callback_fn *callback, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*activity_enable)(uint32_t kind);
	int (*activity_disable)(uint32_t kind);
	int (*activity_register_callbacks)(cupti_buffer_request_fn *request,
					   cupti_buffer_complete_fn *complete);
	int (*activity_flush_all)(uint32_t flag);
	int (*activity_get_next_record)(uint8_t *buffer, size_t valid_size, void **record);
	int (*get_timestamp)(uint64_t *timestamp);
	/* The rest may be NULL. */
	int (*activity_get_dropped)(void *context, uint32_t stream_id, size_t *dropped);
	int (*activity_set_attribute)(uint32_t attribute, size_t *size, void *value);
	int (*subscribe_v2)(void **subscriber, cupti_callback_fn *callback, void *user,
			    struct cupti_subscriber_params *params);
	int (*get_graph_node_id)(void *node, uint64_t *node_id);
	int (*finalize)(void);
	int (*get_context_id)(void *context, uint32_t *context_id);
	int (*get_device_id)(void *context, uint32_t *device_id);
	int (*activity_enable_all_sync_records)(uint8_t enable);
	int (*configure_unified_memory)(struct cupti_unified_config *configs, uint32_t count);
	int (*get_callback_name)(uint32_t domain, uint32_t cbid, const char **name);
	int (*get_stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *stream_id);
	/* enables a kind, and writes records of objects that already exist */
	int (*activity_enable_and_dump)(uint32_t kind);
	int (*enable_domain)(uint32_t enable, void *subscriber, uint32_t domain);
	int (*enable_all_domains)(uint32_t enable, void *subscriber);
	int (*get_graph_exec_id)(void *graph_exec, uint32_t *graph_id);
	int (*activity_register_timestamp)(cupti_timestamp_fn *read);
	int (*sampling_enable)(struct cupti_sampling_call *call);
	int (*sampling_disable)(struct cupti_sampling_call *call);
	int (*sampling_start)(struct cupti_sampling_call *call);
	int (*sampling_stop)(struct cupti_sampling_call *call);
	int (*sampling_get)(struct cupti_sampling_get *call);
	int (*sampling_count_reasons)(struct cupti_sampling_count *call);
	int (*sampling_get_reasons)(struct cupti_sampling_reasons *call);
	int (*sampling_configure)(struct cupti_sampling_settings *call);
	int (*get_cubin_crc)(struct cupti_cubin_crc *call);
	struct metrics_library metrics;
};

/* Maps `path` and resolves its functions. With already_mapped it takes the copy that the process has, or fails. A
 * mapped CUPTI stays mapped for good, because unloading it crashes. Returns 0; -ENOENT: the loader refused; -ENOSYS: a
 * required function is missing. On error *library is zeroed. */
int cupti_library_open(const char *path, bool already_mapped, struct cupti_library *library);

#endif
