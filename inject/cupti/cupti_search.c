#include "cupti_search.h"

#include <dirent.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPPED_MAX   64u /* objects of the process that matter here */
#define TOOLKITS_MAX 8u

static const int newest_first[] = {13, 12};
#define NR_MAJORS (sizeof(newest_first) / sizeof(newest_first[0]))

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Not atoi(): it is bound to newer C libraries than the guest may need. */
static int decimal(const char *text)
{
	int value = 0;

	for (; *text >= '0' && *text <= '9' && value < 100000; text++)
		value = value * 10 + (*text - '0');
	return value;
}

static void add_candidate(struct cupti_search *search, const char *path, bool mapped)
{
	for (uint32_t i = 0; i < search->nr_candidates; i++)
		if (strcmp(search->candidates[i].path, path) == 0)
			return;
	if (search->nr_candidates == CUPTI_SEARCH_MAX || strlen(path) >= CUPTI_SEARCH_PATH_MAX)
		return;

	struct cupti_candidate *candidate = &search->candidates[search->nr_candidates++];
	candidate->mapped = mapped;
	strcpy(candidate->path, path);
}

static void add_looked(struct cupti_search *search, const char *place)
{
	size_t size = strlen(place);
	size_t room = sizeof(search->looked) - 1 - search->looked_size;

	if (size + 2 > room || strstr(search->looked, place))
		return;
	if (search->looked_size) {
		memcpy(search->looked + search->looked_size, ", ", 2);
		search->looked_size += 2;
	}
	memcpy(search->looked + search->looked_size, place, size);
	search->looked_size += (uint32_t)size;
	search->looked[search->looked_size] = '\0';
}

/* Lists the major versions to try, that of the mapped libcudart first. */
static void order_majors(const struct cupti_search_input *input, int *majors)
{
	int first = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < input->nr_mapped && !first; i++) {
		const char *name = base_name(input->mapped[i]);
		const char *version = strstr(name, ".so.");

		if (starts_with(name, "libcudart") && version)
			first = decimal(version + strlen(".so."));
	}
	for (size_t i = 0; i < NR_MAJORS; i++)
		if (newest_first[i] == first)
			majors[nr++] = first;
	for (size_t i = 0; i < NR_MAJORS; i++)
		if (newest_first[i] != first)
			majors[nr++] = newest_first[i];
}

struct place {
	struct cupti_search *search;
	const int *majors;
};

/* Adds folder + suffix, for each major in turn. */
static void look_in(const struct place *place, const char *folder, const char *suffix)
{
	char path[CUPTI_SEARCH_PATH_MAX];

	if (!folder || !*folder)
		return;
	if (snprintf(path, sizeof(path), "%s%s", folder, suffix) < (int)sizeof(path))
		add_looked(place->search, path);
	for (size_t i = 0; i < NR_MAJORS; i++) {
		int size = snprintf(path, sizeof(path), "%s%s/libcupti.so.%d", folder, suffix,
				    place->majors[i]);

		if (size < (int)sizeof(path) && access(path, R_OK) == 0)
			add_candidate(place->search, path, false);
	}
}

static void look_in_wheels(const struct place *place, const char *site_packages)
{
	look_in(place, site_packages, "/nvidia/cu13/lib");
	look_in(place, site_packages, "/nvidia/cuda_cupti/lib");
}

static void look_in_toolkit(const struct place *place, const char *root)
{
	look_in(place, root, "/lib64");
	look_in(place, root, "/extras/CUPTI/lib64");
	look_in(place, root, "/targets/x86_64-linux/lib");
}

/* Copies the path up to `keep` bytes into its first `part`. Returns false if it has none. */
static bool cut_before(const char *path, const char *part, size_t keep, char *out)
{
	const char *at = strstr(path, part);

	if (!at || (size_t)(at - path) + keep >= CUPTI_SEARCH_PATH_MAX)
		return false;
	memcpy(out, path, (size_t)(at - path) + keep);
	out[(size_t)(at - path) + keep] = '\0';
	return true;
}

static void look_near_mapped(const struct place *place, const struct cupti_search_input *input)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/"};
	char folder[CUPTI_SEARCH_PATH_MAX];

	for (uint32_t i = 0; i < input->nr_mapped; i++) {
		const char *name = base_name(input->mapped[i]);
		size_t size = (size_t)(name - input->mapped[i]);

		if (!starts_with(name, "libcudart") || size < 2 || size > sizeof(folder))
			continue;
		memcpy(folder, input->mapped[i], size - 1);
		folder[size - 1] = '\0';
		look_in(place, folder, "");
	}
	for (uint32_t i = 0; i < input->nr_mapped; i++)
		for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++)
			if (cut_before(input->mapped[i], parts[part], strlen(parts[part]) - 1,
				       folder))
				look_in_wheels(place, folder);
}

/* $VIRTUAL_ENV/lib/python3.X/site-packages */
static void look_in_environment(const struct place *place, const char *virtual_env)
{
	char path[CUPTI_SEARCH_PATH_MAX];
	DIR *folder;

	if (!virtual_env ||
	    snprintf(path, sizeof(path), "%s/lib", virtual_env) >= (int)sizeof(path))
		return;
	folder = opendir(path);
	if (!folder)
		return;
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		if (starts_with(entry->d_name, "python3") &&
		    snprintf(path, sizeof(path), "%s/lib/%s/site-packages", virtual_env,
			     entry->d_name) < (int)sizeof(path))
			look_in_wheels(place, path);
	closedir(folder);
}

static void look_in_library_path(const struct place *place, const char *folders)
{
	char folder[CUPTI_SEARCH_PATH_MAX];

	while (folders && *folders) {
		size_t size = strcspn(folders, ":;");

		if (size > 0 && size < sizeof(folder)) {
			memcpy(folder, folders, size);
			folder[size] = '\0';
			look_in(place, folder, "");
		}
		folders += size + (folders[size] != '\0');
	}
}

/* "cuda-13.0" as a number that grows with the version. */
static int toolkit_version(const char *name)
{
	const char *minor = strchr(name, '.');

	return 1000 * decimal(name + strlen("cuda-")) + (minor ? decimal(minor + 1) : 0);
}

static void look_in_toolkits(const struct place *place, const char *parent)
{
	char names[TOOLKITS_MAX][64], path[CUPTI_SEARCH_PATH_MAX];
	uint32_t nr = 0;
	DIR *folder = opendir(parent);

	if (!folder)
		return;
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		uint32_t at = nr;

		if (!starts_with(entry->d_name, "cuda-") ||
		    strlen(entry->d_name) >= sizeof(names[0]))
			continue;
		while (at > 0 && toolkit_version(names[at - 1]) < toolkit_version(entry->d_name))
			at--;
		if (at == TOOLKITS_MAX)
			continue;
		nr = nr < TOOLKITS_MAX ? nr + 1 : nr;
		memmove(names + at + 1, names + at, (nr - 1 - at) * sizeof(names[0]));
		strcpy(names[at], entry->d_name);
	}
	closedir(folder);
	if (snprintf(path, sizeof(path), "%s/cuda", parent) < (int)sizeof(path))
		look_in_toolkit(place, path);
	for (uint32_t i = 0; i < nr; i++)
		if (snprintf(path, sizeof(path), "%s/%s", parent, names[i]) < (int)sizeof(path))
			look_in_toolkit(place, path);
}

void cupti_search_run(const struct cupti_search_input *input, struct cupti_search *search)
{
	int majors[NR_MAJORS];
	const struct place place = {.search = search, .majors = majors};

	memset(search, 0, sizeof(*search));
	order_majors(input, majors);
	if (input->override && *input->override) {
		add_looked(search, input->override);
		add_candidate(search, input->override, false);
		return;
	}
	for (uint32_t i = 0; i < input->nr_mapped; i++)
		if (starts_with(base_name(input->mapped[i]), "libcupti.so"))
			add_candidate(search, input->mapped[i], true);
	look_near_mapped(&place, input);
	if (input->cuda_home)
		look_in_toolkit(&place, input->cuda_home);
	if (input->cuda_path)
		look_in_toolkit(&place, input->cuda_path);
	look_in_environment(&place, input->virtual_env);
	look_in(&place, input->conda_prefix, "/lib");
	look_in_library_path(&place, input->library_path);
	if (input->toolkit_parent)
		look_in_toolkits(&place, input->toolkit_parent);
	add_looked(search, "the loader's path");
	for (size_t i = 0; i < NR_MAJORS; i++) {
		char soname[32];

		snprintf(soname, sizeof(soname), "libcupti.so.%d", majors[i]);
		add_candidate(search, soname, false);
	}
	look_in(&place, input->own_folder, "");
}

void cupti_search_environment(const char *const *mapped, uint32_t nr_mapped, const char *own_folder,
			      struct cupti_search *search)
{
	cupti_search_run(
		&(struct cupti_search_input){
			.override = getenv(CUPTI_SEARCH_ENV),
			.mapped = mapped,
			.nr_mapped = nr_mapped,
			.cuda_home = getenv("CUDA_HOME"),
			.cuda_path = getenv("CUDA_PATH"),
			.virtual_env = getenv("VIRTUAL_ENV"),
			.conda_prefix = getenv("CONDA_PREFIX"),
			.library_path = getenv("LD_LIBRARY_PATH"),
			.toolkit_parent = "/usr/local",
			.own_folder = own_folder,
		},
		search);
}

struct mapped_objects {
	uint32_t nr;
	const char *paths[MAPPED_MAX];
	char own_folder[CUPTI_SEARCH_PATH_MAX];
};

/* Names of loaded objects stay valid while they are loaded; nothing unloads these during the
 * search. */
static int note_object(struct dl_phdr_info *info, size_t size, void *user)
{
	struct mapped_objects *objects = user;
	const char *name = base_name(info->dlpi_name);

	(void)size;
	if (starts_with(name, "libflamegrid_inject") && name != info->dlpi_name &&
	    (size_t)(name - info->dlpi_name) <= sizeof(objects->own_folder))
		memcpy(objects->own_folder, info->dlpi_name, (size_t)(name - info->dlpi_name) - 1);
	if (objects->nr < MAPPED_MAX &&
	    (starts_with(name, "libcudart") || starts_with(name, "libcupti.so") ||
	     starts_with(name, "libtorch") || starts_with(name, "libcublas") ||
	     starts_with(name, "xla_") || starts_with(name, "libjax")))
		objects->paths[objects->nr++] = info->dlpi_name;
	return 0;
}

void cupti_search_process(struct cupti_search *search)
{
	static struct mapped_objects objects;

	memset(&objects, 0, sizeof(objects));
	dl_iterate_phdr(note_object, &objects);
	cupti_search_environment(objects.paths, objects.nr, objects.own_folder, search);
}
