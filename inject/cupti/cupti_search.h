/* Where libcupti may be, best first. Pure but for looking whether files exist; on the thread that
 * loads the guest. */
#ifndef CUPTI_SEARCH_H
#define CUPTI_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define CUPTI_SEARCH_MAX      32u
#define CUPTI_SEARCH_PATH_MAX 512u
/* Environment variable: path of the libcupti to use; no other is looked at. */
#define CUPTI_SEARCH_ENV "FLAMEGRID_CUPTI"

/* What the search starts from; strings are borrowed until it returns, and any may be NULL. */
struct cupti_search_input {
	const char *override;
	const char *const *mapped; /* paths of the objects in the process */
	uint32_t nr_mapped;
	const char *cuda_home, *cuda_path; /* environment variables of those names */
	const char *virtual_env, *conda_prefix;
	const char *library_path;   /* LD_LIBRARY_PATH */
	const char *toolkit_parent; /* holds "cuda" and "cuda-X.Y": /usr/local */
	const char *own_folder;     /* of the guest itself */
};

struct cupti_candidate {
	bool mapped;                      /* the process has it */
	char path[CUPTI_SEARCH_PATH_MAX]; /* without a slash: for the loader's own search */
};

struct cupti_search {
	uint32_t nr_candidates;
	struct cupti_candidate candidates[CUPTI_SEARCH_MAX];
	uint32_t looked_size;
	char looked[1024]; /* "override, folder, folder, …" for people; cut where it is too long */
};

/* The override alone, if there is one. Else, in this order: a mapped libcupti; beside a mapped libcudart; Python wheels
 * next to mapped objects; CUDA_HOME, CUDA_PATH; the active Python environment; the loader's path from the environment,
 * folder by folder, since the loader finds no second file of a name that it has loaded, should that one not fit the
 * driver; toolkits; the loader; beside the guest. Within a place the major version of the mapped libcudart comes first,
 * else the newest. A file is listed once. */
void cupti_search_run(const struct cupti_search_input *input, struct cupti_search *search);

/* Runs the search for this process: its environment and what it has mapped. */
void cupti_search_process(struct cupti_search *search);

#endif
