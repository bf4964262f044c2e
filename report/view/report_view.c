#include "report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "report/model/report_dimension.h"
#include "report/resource/resource_rates.h"

#define FINDINGS_LEAVES_MOST (1u << 18) /* 30 MB of memory */

int report_view_explain(const struct report_view *view, int result, char **error)
{
	return result < 0 ? error_text_set(error, result, "%s: %s", view->given_path,
					   result == -EPROTO
						   ? "damaged: it names what it does not hold"
						   : strerror(-result))
			  : 0;
}

/* If the store is damaged, loads what is whole of it; if its log needs a file beside it, a copy. */
static int load(struct report_view *view, char **error)
{
	char *why = NULL;
	int result = profile_load(view->store_path, &view->profile, error);

	if (result == 0 || whole_profile_salvage(&view->whole) ||
	    profile_load(view->store_path, &view->profile, &why)) {
		free(why);
		return result;
	}
	free(*error);
	*error = NULL;
	return 0;
}

/* The store's single pieces of work tell what resources were used for, so they are read for their planes alone. */
static int build_tree(struct report_view *view)
{
	struct report_options options = view->options ? *view->options : (struct report_options){0};
	int error = 0;

	if (options.planes & REPORT_PLANES_RESOURCES && !view->usage.devices)
		error = resource_rates_make(&view->usage, report_planes_resources(options.planes),
					    view->profile, view->store_path);
	options.usage = &view->usage;
	return error ? error : report_tree_build(view->profile, &options, &view->tree);
}

int report_view_open(struct report_view *view, const char *store_path,
		     const struct report_options *options, char **error)
{
	memset(view, 0, sizeof(*view));
	*error = NULL;
	view->given_path = store_path;
	view->store_path = view->whole.path;
	view->options = options;

	int result = whole_profile_open(&view->whole, store_path, false, error);
	if (result == 0)
		result = load(view, error);
	if (result < 0)
		return result;
	/* Nobody writes the merged copy. */
	if (view->whole.is_written) {
		view->profile->written = true;
		view->profile->abandoned = false;
	}
	result = build_tree(view);
	if (result == 0)
		result = report_busy_create(view->profile, &view->busy);
	if (result == 0)
		result = report_ranks_create(view->profile, &view->ranks);
	if (result == 0)
		result = report_clocks_create(view->profile, &view->clocks);
	if (result == 0)
		result = report_statistics_create(view->profile,
						  options ? options->demangle : DEMANGLE_FULL,
						  &view->statistics);
	return report_view_explain(view, result, error);
}

/* Makes a tree of other leaves. They are bounded, since findings are sums. */
static int build_other(const struct report_view *view, uint32_t planes, enum report_memory memory,
		       struct report_tree **tree)
{
	struct report_options options = view->options ? *view->options : (struct report_options){0};

	options.planes = planes;
	options.memory = memory;
	options.nr_pieces = 0; /* those of the view's tree stay */
	options.leaves_most = FINDINGS_LEAVES_MOST;
	options.leaves_kept = 1u << REPORT_BY_HOST | 1u << REPORT_BY_GPU;
	return report_tree_build(view->profile, &options, tree);
}

int report_view_find(struct report_view *view, char **error)
{
	const uint32_t hosts_planes = 1u << REPORT_PLANE_SYNC | 1u << REPORT_PLANE_IDLE;
	const uint32_t work_plane = 1u << REPORT_PLANE_GPU;
	const bool has_work = view->tree->planes & work_plane &&
			      !(view->options && view->options->memory != REPORT_MEMORY_NONE);
	struct report_tree *work = NULL, *hosts = NULL, *allocs = NULL;
	int result;

	if (view->findings)
		return 0;
	gpu_rows_fini(&view->gpus);
	result = gpu_rows_init(&view->gpus, view->busy, view->ranks);

	if (result == 0 && !has_work)
		result = build_other(view, work_plane, REPORT_MEMORY_NONE, &work);
	if (result == 0 && view->tree->plane_totals[REPORT_PLANE_SYNC].count +
				   view->tree->plane_totals[REPORT_PLANE_IDLE].count)
		result = build_other(view, hosts_planes, REPORT_MEMORY_NONE, &hosts);
	if (result == 0 && view->tree->nr_memory)
		result = build_other(view, 0, REPORT_MEMORY_ALLOCS, &allocs);
	if (result == 0)
		result = findings_create(&(struct findings_input){.work = work ? work : view->tree,
								  .hosts = hosts,
								  .allocs = allocs,
								  .ranks = view->ranks,
								  .gpus = &view->gpus,
								  .statistics = view->statistics},
					 &view->findings);
	report_tree_destroy(work);
	report_tree_destroy(hosts);
	report_tree_destroy(allocs);
	return report_view_explain(view, result, error);
}

int report_view_rebuild(struct report_view *view, const struct report_options *options)
{
	report_tree_destroy(view->tree);
	view->tree = NULL;
	view->options = options;
	return build_tree(view);
}

/* Only heads of blocks are read. */
static bool has_more_events(const struct report_view *view, uint64_t events_max)
{
	const struct event_asks asks = {
		.profile = view->profile->has_timeline ? view->profile->timeline_id : NULL};
	struct event_sums sums = {0};

	return event_reader_read(view->store_path, &asks, &sums) == 0 &&
	       sums.launches + sums.records > events_max;
}

static int read_waits(const struct report_view *view, struct nccl_waits *nccl)
{
	return view->collectives ? nccl_waits_init(nccl, view->collectives->folds)
				 : nccl_waits_load(nccl, view->store_path, NULL);
}

int report_view_strips(const struct report_view *view, uint64_t events_max,
		       struct time_strips *strips)
{
	*strips = (struct time_strips){0};
	if (view->diff)
		return -ENOENT;
	if (events_max && has_more_events(view, events_max))
		return -EFBIG;
	struct timeline_source *source =
		timeline_source_create(view->store_path, view->profile, view->clocks->map);
	struct nccl_waits nccl = {0};
	int error = source ? read_waits(view, &nccl) : -ENOMEM;

	if (error != -ENOMEM) /* waits that cannot be read are not told from moves */
		error = time_strips_read(source, &nccl, 0, strips);
	nccl_waits_fini(&nccl);
	timeline_source_destroy(source);
	return error;
}

void report_view_close(struct report_view *view)
{
	report_diff_destroy(view->diff);
	findings_destroy(view->findings);
	gpu_rows_fini(&view->gpus);
	report_straggler_destroy(view->straggler);
	report_collectives_destroy(view->collectives);
	report_statistics_destroy(view->statistics);
	report_clocks_destroy(view->clocks);
	report_ranks_destroy(view->ranks);
	report_busy_destroy(view->busy);
	report_tree_destroy(view->tree);
	resource_usage_fini(&view->usage);
	profile_destroy(view->profile);
	whole_profile_close(&view->whole);
	memset(view, 0, sizeof(*view));
}
