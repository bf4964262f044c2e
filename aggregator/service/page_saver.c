#include "page_saver.h"

#include <errno.h>
#include <stdint.h>

#include "aggregator/pages/page_file.h"
#include "aggregator/pages/page_set.h"

static void *run(void *argument)
{
	const struct page_saver *saver = argument;

	return (void *)(intptr_t)page_file_write(saver->snapshot, saver->path);
}

int page_saver_start(struct page_saver *saver)
{
	if (saver->snapshot)
		return -EBUSY;
	saver->snapshot = page_set_snapshot(saver->set);
	if (!saver->snapshot)
		return -ENOMEM;
	int error = pthread_create(&saver->thread, NULL, run, saver);
	if (error) {
		page_set_release(saver->set, saver->snapshot, false);
		saver->snapshot = NULL;
	}
	return -error;
}

bool page_saver_end(struct page_saver *saver, bool wait, int *result)
{
	void *returned;

	if (!saver->snapshot)
		return false;
	if (wait)
		pthread_join(saver->thread, &returned);
	else if (pthread_tryjoin_np(saver->thread, &returned))
		return false;
	*result = (int)(intptr_t)returned;
	page_set_release(saver->set, saver->snapshot, *result == 0);
	saver->snapshot = NULL;
	return true;
}
