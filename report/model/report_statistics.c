#include "report_statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_tree.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/statistics_table.h"
#include "proto/definition.h"
#include "proto/ledger.h"
#include "report/names/clean_text.h"
#include "report/names/cuda_error.h"

/* The state of one build. */
struct builder {
	struct report_statistics *statistics;
	const struct collection *collection;
	enum demangle_mode demangle;
	const char **plain, **kernels; /* texts by string id; NULL: not made yet */
};

static char *make_text(const struct builder *builder, uint32_t string_id, bool is_kernel)
{
	uint32_t size;
	const char *text = catalog_string(builder->collection->catalog, string_id, &size);

	if (!is_kernel)
		return clean_text_of(text, size);

	char *copy = strndup(text, size);
	char *name = copy ? demangle_name(copy, builder->demangle) : NULL;
	char *clean = name ? clean_text_of(name, strlen(name)) : NULL;
	free(copy);
	free(name);
	return clean;
}

/* NULL: out of memory. */
static const char *text_of(struct builder *builder, uint32_t string_id, bool is_kernel)
{
	const char **known = &(is_kernel ? builder->kernels : builder->plain)[string_id];

	if (!*known) {
		char *text = make_text(builder, string_id, is_kernel);

		if (text)
			builder->statistics->texts[builder->statistics->nr_texts++] = text;
		*known = text;
	}
	return *known;
}

static void widen(uint64_t *min_ns, uint64_t *max_ns, uint64_t other_min_ns, uint64_t other_max_ns)
{
	if (other_min_ns < *min_ns)
		*min_ns = other_min_ns;
	if (other_max_ns > *max_ns)
		*max_ns = other_max_ns;
}

/* ---- gathering: one row for each row of each process */

static int add_failure(struct builder *builder, const struct roster_process *process,
		       const struct message_api_call *call, const char *name)
{
	struct report_statistics *statistics = builder->statistics;
	const struct roster_host *host =
		roster_host(builder->collection->roster, process->identity.host);
	const char *error_name = cuda_error_name(call->domain, call->error);
	const char *host_name = text_of(builder, host ? host->node : 0, false);

	if (!host_name)
		return -ENOMEM;
	statistics->failures[statistics->nr_failures++] = (struct report_failure){
		.name = name,
		.domain = call->domain,
		.error = call->error,
		.error_name = error_name ? error_name : "",
		.host = host_name,
		.rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE,
		.pid = process->identity.pid,
		.count = call->count,
	};
	return 0;
}

static void add_marks(struct report_statistics *statistics, const struct roster_process *process,
		      uint64_t count)
{
	if (!count)
		return;
	if (statistics->marked_steps < count)
		statistics->marked_steps = count;
	if (!statistics->nr_marking++ || statistics->least_marked > count)
		statistics->least_marked = count;
	statistics->is_marking_cut |= process->state == PROCESS_UNCLEAN;
	statistics->all_marked = ledger_add_saturating(statistics->all_marked, count);
}

static int add_call(struct builder *builder, const struct roster_process *process,
		    const struct message_api_call *call)
{
	struct report_statistics *statistics = builder->statistics;
	const char *name = text_of(builder, call->name, false);

	if (!name)
		return -ENOMEM;
	if (call->domain == DEFINITION_STEP_DOMAIN && call->cbid == DEFINITION_STEP_CBID) {
		add_marks(statistics, process, call->count);
		return 0;
	}
	if (call->error)
		return add_failure(builder, process, call, name);
	statistics->calls[statistics->nr_calls++] = (struct report_call){
		.name = name,
		.domain = call->domain,
		.count = call->count,
		.total_ns = call->total_ns,
		.min_ns = call->min_ns,
		.max_ns = call->max_ns,
		.errors = call->errors,
	};
	return 0;
}

static int add_config(struct builder *builder, const struct roster_process *process,
		      const struct message_kernel_config *row)
{
	struct report_statistics *statistics = builder->statistics;
	struct report_config *config = &statistics->configs[statistics->nr_configs++];
	const struct roster_device *device = roster_device(
		builder->collection->roster, roster_process_device(process, row->config.device_id));

	*config = (struct report_config){
		.name = text_of(builder, row->config.name_id, true),
		.device = text_of(builder, device ? device->name : 0, false),
		.shape = row->config,
		.count = row->count,
		.total_ns = row->total_ns,
		.min_ns = row->min_ns,
		.max_ns = row->max_ns,
	};
	config->shape.device_id = config->shape.name_id = 0;
	if (device)
		config->limits = device->limits;
	return config->name && config->device ? 0 : -ENOMEM;
}

static int add_process(struct builder *builder, const struct roster_process *process)
{
	uint32_t nr_calls, nr_configs;
	const struct message_api_call *calls =
		statistics_table_calls(process->statistics, &nr_calls);
	const struct message_kernel_config *configs =
		statistics_table_configs(process->statistics, &nr_configs);
	uint32_t nr_strings = catalog_size(builder->collection->catalog).strings;
	int error = 0;

	for (uint32_t i = 0; i < nr_calls && !error; i++)
		error = calls[i].name > nr_strings ? -EPROTO
						   : add_call(builder, process, &calls[i]);
	for (uint32_t i = 0; i < nr_configs && !error; i++)
		error = configs[i].config.name_id > nr_strings
				? -EPROTO
				: add_config(builder, process, &configs[i]);
	return error;
}

/* ---- merging: equal rows become one */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int call_identity(const void *a, const void *b)
{
	const struct report_call *x = a, *y = b;
	int order = compare(y->domain, x->domain);

	return order ? order : strcmp(x->name, y->name);
}

static int call_time(const void *a, const void *b)
{
	const struct report_call *x = a, *y = b;
	int order = compare(y->domain, x->domain);

	if (order == 0)
		order = compare(y->total_ns, x->total_ns);
	return order ? order : strcmp(x->name, y->name);
}

static int failure_count(const void *a, const void *b)
{
	const struct report_failure *x = a, *y = b;
	int order = compare(y->count, x->count);

	if (order == 0)
		order = strcmp(x->name, y->name);
	if (order == 0)
		order = compare(x->error, y->error);
	if (order == 0)
		order = strcmp(x->host, y->host);
	return order ? order : compare(x->pid, y->pid);
}

static int config_identity(const void *a, const void *b)
{
	const struct report_config *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = strcmp(x->device, y->device);
	if (order == 0)
		order = memcmp(&x->shape, &y->shape, sizeof(x->shape));
	return order ? order : memcmp(&x->limits, &y->limits, sizeof(x->limits));
}

static int config_time(const void *a, const void *b)
{
	const struct report_config *x = a, *y = b;
	int order = compare(y->total_ns, x->total_ns);

	return order ? order : config_identity(a, b);
}

static void sort(void *rows, uint32_t count, size_t size,
		 int (*order)(const void *a, const void *b))
{
	if (count)
		qsort(rows, count, size, order);
}

static void merge_calls(struct report_statistics *statistics)
{
	struct report_call *calls = statistics->calls;
	uint32_t count = 0;

	sort(calls, statistics->nr_calls, sizeof(*calls), call_identity);
	for (uint32_t i = 0; i < statistics->nr_calls; i++) {
		struct report_call *last = calls + count - 1, *call = &calls[i];

		if (count == 0 || call_identity(last, call) != 0) {
			calls[count++] = *call;
			continue;
		}
		widen(&last->min_ns, &last->max_ns, call->min_ns, call->max_ns);
		last->count += call->count;
		last->total_ns += call->total_ns;
		last->errors += call->errors;
	}
	statistics->nr_calls = count;
	sort(calls, count, sizeof(*calls), call_time);
}

static uint64_t threads_of(const struct kernel_config *shape)
{
	uint64_t threads;

	/* A product above 64 bits becomes a number that no GPU can run. */
	if (__builtin_mul_overflow((uint64_t)shape->block_x, (uint64_t)shape->block_y, &threads) ||
	    __builtin_mul_overflow(threads, (uint64_t)shape->block_z, &threads) ||
	    threads > UINT32_MAX)
		return UINT32_MAX;
	return threads;
}

static void add_occupancy(struct report_config *config)
{
	const struct occupancy_launch launch = {
		.block_threads = threads_of(&config->shape),
		.registers = config->shape.registers,
		.shared_bytes = (uint64_t)config->shape.static_shared_bytes +
				config->shape.dynamic_shared_bytes,
	};

	config->has_occupancy = occupancy_of(&config->limits, &launch, &config->occupancy) == 0;
}

static void merge_configs(struct report_statistics *statistics)
{
	struct report_config *configs = statistics->configs;
	uint32_t count = 0;

	sort(configs, statistics->nr_configs, sizeof(*configs), config_identity);
	for (uint32_t i = 0; i < statistics->nr_configs; i++) {
		struct report_config *last = configs + count - 1, *config = &configs[i];

		if (count == 0 || config_identity(last, config) != 0) {
			configs[count++] = *config;
			continue;
		}
		widen(&last->min_ns, &last->max_ns, config->min_ns, config->max_ns);
		last->count += config->count;
		last->total_ns += config->total_ns;
	}
	statistics->nr_configs = count;
	for (uint32_t i = 0; i < count; i++)
		add_occupancy(&configs[i]);
	sort(configs, count, sizeof(*configs), config_time);
}

static int make_room(struct builder *builder)
{
	struct report_statistics *statistics = builder->statistics;
	const struct roster *roster = builder->collection->roster;
	size_t nr_strings = (size_t)catalog_size(builder->collection->catalog).strings + 1;
	size_t nr_calls = 1, nr_configs = 1;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct statistics_table *table = roster_process(roster, id)->statistics;
		uint32_t count;

		statistics_table_calls(table, &count);
		nr_calls += count;
		statistics_table_configs(table, &count);
		nr_configs += count;
	}
	builder->plain = calloc(nr_strings, sizeof(*builder->plain));
	builder->kernels = calloc(nr_strings, sizeof(*builder->kernels));
	statistics->texts = calloc(2 * nr_strings, sizeof(*statistics->texts));
	statistics->calls = calloc(nr_calls, sizeof(*statistics->calls));
	statistics->failures = calloc(nr_calls, sizeof(*statistics->failures));
	statistics->configs = calloc(nr_configs, sizeof(*statistics->configs));
	return builder->plain && builder->kernels && statistics->texts && statistics->calls &&
			       statistics->failures && statistics->configs
		       ? 0
		       : -ENOMEM;
}

int report_statistics_create(const struct profile *profile, enum demangle_mode demangle,
			     struct report_statistics **statistics)
{
	struct builder builder = {.collection = profile->collection, .demangle = demangle};
	const struct roster *roster = profile->collection->roster;

	*statistics = builder.statistics = calloc(1, sizeof(**statistics));
	if (!*statistics)
		return -ENOMEM;
	int error = make_room(&builder);
	for (uint32_t id = 1; id <= roster_size(roster).processes && !error; id++)
		error = add_process(&builder, roster_process(roster, id));
	free(builder.plain);
	free(builder.kernels);
	if (error) {
		report_statistics_destroy(*statistics);
		*statistics = NULL;
		return error;
	}
	merge_calls(*statistics);
	sort((*statistics)->failures, (*statistics)->nr_failures, sizeof(*(*statistics)->failures),
	     failure_count);
	merge_configs(*statistics);
	return 0;
}

void report_statistics_destroy(struct report_statistics *statistics)
{
	if (!statistics)
		return;
	array_free_texts(statistics->texts, statistics->nr_texts);
	free(statistics->calls);
	free(statistics->failures);
	free(statistics->configs);
	free(statistics);
}

double report_statistics_percent(const struct report_config *config)
{
	return config->has_occupancy ? 100.0 * config->occupancy.warps / config->occupancy.warps_max
				     : 0.0;
}
