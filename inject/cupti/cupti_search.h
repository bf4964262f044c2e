/* Lists the places where libcupti may be, best first. Pure, except that it looks whether files exist. Call it on the
 * thread that loads the guest. */
#ifndef CUPTI_SEARCH_H
#define CUPTI_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define CUPTI_SEARCH_MAX      32u
#define CUPTI_SEARCH_PATH_MAX 512u
/* Environment variable: the path of the libcupti to use. No other file is considered then. */
#define CUPTI_SEARCH_ENV "FLAMEGRID_CUPTI"

/* The input of the search. Strings are borrowed until it returns; any may be NULL. */
struct cupti_search_input {
	const char *override;
	const char *const *mapped; /* paths of the process's objects */
	uint32_t nr_mapped;
	const char *cuda_home, *cuda_path; /* environment variables of those names */
	const char *virtual_env, *conda_prefix;
	const char *library_path;   /* LD_LIBRARY_PATH */
	const char *toolkit_parent; /* holds "cuda" and "cuda-X.Y": /usr/local */
	const char *own_folder;     /* folder of the guest itself */
};

struct cupti_candidate {
	bool mapped; /* the process has mapped it */
	/* a name without a slash is for the loader's own search */
	char path[CUPTI_SEARCH_PATH_MAX];
};

struct cupti_search {
	uint32_t nr_candidates;
	struct cupti_candidate candidates[CUPTI_SEARCH_MAX];
	uint32_t looked_size;
	char looked[1024]; /* "override, folder, folder, …" for people; cut where it is too long */
};

/* Lists only the override, if there is one. Otherwise it lists these places, in this order:
 *   - a mapped libcupti,
 *   - the folder of a mapped libcudart,
 *   - Python wheels next to mapped objects,
 *   - CUDA_HOME, CUDA_PATH,
 *   - the active Python environment,
 *   - the loader's path from the environment, folder by folder, because the loader opens no second file of a name
 *     that it has loaded, even if the first does not fit the driver,
 *   - toolkits,
 *   - the loader's own search,
 *   - the guest's folder.
 * Within a place the major version of the mapped libcudart comes first, or else the newest. A file is listed once. */
void cupti_search_run(const struct cupti_search_input *input, struct cupti_search *search);

/* Runs the search with this process's environment. mapped, own_folder: as of the input. */
void cupti_search_environment(const char *const *mapped, uint32_t nr_mapped, const char *own_folder,
			      struct cupti_search *search);

/* Runs it with this process's mapped objects, too. */
void cupti_search_process(struct cupti_search *search);

#endif
