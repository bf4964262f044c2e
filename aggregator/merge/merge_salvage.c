#include "merge_salvage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregator/store/store.h"
#include "aggregator/store/store_salvage.h"

int merge_salvage_init(struct merge_salvage *salvage, const char *merged_path, uint32_t nr_sources)
{
	*salvage = (struct merge_salvage){
		.merged_path = merged_path,
		.list = calloc(nr_sources + 1ull, sizeof(*salvage->list)),
		.nr_sources = nr_sources,
	};
	return salvage->list ? 0 : -ENOMEM;
}

void merge_salvage_fini(struct merge_salvage *salvage)
{
	for (uint32_t i = 0; i < salvage->nr_sources && salvage->list; i++) {
		if (salvage->list[i].path)
			unlink(salvage->list[i].path);
		free(salvage->list[i].path);
	}
	free(salvage->list);
	*salvage = (struct merge_salvage){.list = NULL};
}

static int take_whole_pages(struct merge_source *source, const char *path)
{
	struct store_salvage found;
	int error = store_salvage(source->path, path, &found);

	if (error)
		return error;
	source->nr_lost = found.nr_lost;
	source->nr_pages = found.nr_pages - found.nr_lost;
	source->nr_lost_records = found.nr_lost_records;
	return 0;
}

static int take_copy(const struct merge_source *source, const char *path)
{
	int error = store_salvage_log(source->path, path);

	return error ? error : store_recover(path);
}

int merge_salvage_take(struct merge_salvage *salvage, uint32_t number, struct merge_source *source,
		       int error)
{
	struct merge_salvaged *salvaged = &salvage->list[number];
	const bool is_damaged = error == -EPROTO;
	char *path;

	if (source->open || salvaged->is_tried ||
	    (!is_damaged && error != -EACCES && error != -EIO && error != -ENOSPC))
		return error;
	salvaged->is_tried = true;
	if (asprintf(&path, "%s.%d-%u", salvage->merged_path, (int)getpid(), number) < 0)
		return error;
	if (is_damaged ? take_whole_pages(source, path) : take_copy(source, path)) {
		free(path);
		return error;
	}
	salvaged->path = path;
	salvage->nr_taken++;
	return 0;
}

const char *merge_salvage_path(const struct merge_salvage *salvage, uint32_t number,
			       const struct merge_source *source)
{
	return salvage->list[number].path ? salvage->list[number].path : source->path;
}
