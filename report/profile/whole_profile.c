#include "whole_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/pages/page_store.h"
#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/error_text.h"

#define NS_PER_MS      1000000ull
#define WANTED_MS      3000u /* longest wait for the aggregator */
#define WANTED_LOOK_MS 20
#define MERGED_SUFFIX  ".whole"
#define MERGED_NAME    "profile.db"
#define DIRECTORY_NAME "flamegrid-report-XXXXXX"

/* One node's profile, as a source of a merge. */
struct node {
	const struct page_set *set;
	uint32_t writer;
	const char *path; /* of the nodes' file */
};

static int join(char out[static PATH_MAX], const char *path, const char *suffix, char **error)
{
	return snprintf(out, PATH_MAX, "%s%s", path, suffix) < PATH_MAX
		       ? 0
		       : error_text_set(error, -ENAMETOOLONG, "%s: %s", path,
					strerror(ENAMETOOLONG));
}

static int add_page(void *context, const struct profile_page *page)
{
	return page_store_add(context, page);
}

static int open_node(void *context, struct database **database, char **error)
{
	const struct node *node = context;
	struct page_store *store;
	int status = page_store_create(&store);

	*database = NULL;
	if (!status)
		status = page_set_read(node->set, node->writer, add_page, store);
	if (status)
		page_store_destroy(store);
	else if (!(*database = page_store_finish(store)))
		status = -ENOMEM;
	return status ? error_text_set(error, status, "%s: the profile of a node: %s", node->path,
				       status == -EPROTO ? "damaged" : strerror(-status))
		      : 0;
}

static int merge(const char *store_path, const char *nodes_path, const struct page_set *set,
		 const char *merged_path, char **error)
{
	const uint32_t nr_nodes = page_set_writers(set);
	struct merge_source *sources = calloc(nr_nodes + 1, sizeof(*sources));
	struct node *nodes = calloc(nr_nodes + 1, sizeof(*nodes));
	uint32_t nr_sources = 0;
	int status = sources && nodes ? 0 : -ENOMEM;

	if (status)
		error_text_set(error, status, "%s: %s", store_path, strerror(-status));
	else
		sources[nr_sources++] = (struct merge_source){.path = store_path};
	for (uint32_t i = 0; i < nr_nodes && !status; i++) {
		if (!page_set_round(set, i))
			continue; /* no round of it is complete */
		nodes[i] = (struct node){set, i, nodes_path};
		sources[nr_sources++] = (struct merge_source){nodes_path, open_node, &nodes[i]};
	}
	if (!status)
		status = profile_merge(sources, nr_sources, merged_path, error);
	free(sources);
	free(nodes);
	return status;
}

/* Loads the nodes' profiles beside the store. *set is NULL if there are none. */
static int load_nodes(const char *store_path, char nodes_path[static PATH_MAX],
		      struct page_set **set, char **error)
{
	int status = join(nodes_path, store_path, WHOLE_PROFILE_SUFFIX, error);

	*set = NULL;
	if (status)
		return status;
	status = page_set_load(nodes_path, set);
	if (status == -ENOENT)
		return 0;
	return status ? error_text_set(error, status, "%s: %s", nodes_path,
				       status == -EPROTO ? "damaged, or not of this version"
							 : strerror(-status))
		      : 0;
}

static int make_directory(struct whole_profile *whole, char **error)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || *parent != '/')
		parent = "/tmp";
	int status = join(whole->directory, parent, "/" DIRECTORY_NAME, error);
	if (!status && !mkdtemp(whole->directory))
		status = error_text_set(error, -errno, "%s: %s", whole->directory, strerror(errno));
	if (status)
		*whole->directory = '\0';
	return status ? status : join(whole->path, whole->directory, "/" MERGED_NAME, error);
}

/* Asks the process that writes the store for the newest state of the nodes' file, and waits for that. Without an answer
 * the file is read as it is. */
static void ask_for_newest(const char *store_path)
{
	const uint64_t until_ns = clock_now_ns() + WANTED_MS * NS_PER_MS;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s" WHOLE_PROFILE_SUFFIX PAGE_SET_WANTED, store_path) >=
	    (int)sizeof(path))
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	close(fd);
	while (access(path, F_OK) == 0 && clock_now_ns() < until_ns)
		poll(NULL, 0, WANTED_LOOK_MS);
	unlink(path);
}

int whole_profile_open(struct whole_profile *whole, const char *store_path, char **error)
{
	char nodes_path[PATH_MAX];
	struct page_set *set;

	*whole = (struct whole_profile){.is_written = false};
	*error = NULL;
	int status = join(whole->path, store_path, "", error);
	if (!status)
		status = join(nodes_path, store_path, WHOLE_PROFILE_SUFFIX, error);
	if (status)
		return status;
	whole->is_written = store_life_is_written(store_path);
	if (whole->is_written && access(nodes_path, F_OK) == 0)
		ask_for_newest(store_path);
	status = load_nodes(store_path, nodes_path, &set, error);
	if (status || !set)
		return status;
	status = make_directory(whole, error);
	if (!status)
		status = merge(store_path, nodes_path, set, whole->path, error);
	page_set_destroy(set);
	return status;
}

void whole_profile_close(struct whole_profile *whole)
{
	if (!*whole->directory)
		return;
	unlink(whole->path);
	rmdir(whole->directory);
	*whole->directory = '\0';
}

int whole_profile_settle(const char *store_path, char **error)
{
	char nodes_path[PATH_MAX], merged_path[PATH_MAX];
	struct page_set *set;

	*error = NULL;
	int status = load_nodes(store_path, nodes_path, &set, error);
	if (status || !set)
		return status;
	status = join(merged_path, store_path, MERGED_SUFFIX, error);
	if (!status)
		status = merge(store_path, nodes_path, set, merged_path, error);
	page_set_destroy(set);
	/* A kill between the two leaves both. What comes twice counts once (profile_merge.h). */
	if (!status && (rename(merged_path, store_path) || unlink(nodes_path)))
		status = error_text_set(error, -errno, "%s: %s", merged_path, strerror(errno));
	return status;
}
