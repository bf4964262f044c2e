#include "report_view.h"

#include <errno.h>
#include <string.h>

#include "base/error_text.h"

int report_view_explain(const struct report_view *view, int result, char **error)
{
	return result < 0 ? error_text_set(error, result, "%s: %s", view->given_path,
					   result == -EPROTO
						   ? "damaged: it names what it does not hold"
						   : strerror(-result))
			  : 0;
}

int report_view_open(struct report_view *view, const char *store_path,
		     const struct report_options *options, char **error)
{
	memset(view, 0, sizeof(*view));
	*error = NULL;
	view->given_path = store_path;
	view->store_path = view->whole.path;
	view->options = options;

	int result = whole_profile_open(&view->whole, store_path, error);
	if (result == 0)
		result = profile_load(view->store_path, &view->profile, error);
	if (result < 0)
		return result;
	/* Nobody writes the merged copy. */
	if (view->whole.is_written) {
		view->profile->written = true;
		view->profile->abandoned = false;
	}
	result = report_tree_build(view->profile, options, &view->tree);
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

int report_view_rebuild(struct report_view *view, const struct report_options *options)
{
	report_tree_destroy(view->tree);
	view->options = options;
	return report_tree_build(view->profile, options, &view->tree);
}

void report_view_close(struct report_view *view)
{
	report_diff_destroy(view->diff);
	report_straggler_destroy(view->straggler);
	report_collectives_destroy(view->collectives);
	report_statistics_destroy(view->statistics);
	report_clocks_destroy(view->clocks);
	report_ranks_destroy(view->ranks);
	report_busy_destroy(view->busy);
	report_tree_destroy(view->tree);
	profile_destroy(view->profile);
	whole_profile_close(&view->whole);
	memset(view, 0, sizeof(*view));
}
