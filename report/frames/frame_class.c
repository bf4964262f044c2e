#include "frame_class.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "frame_text.h"

#include "aggregator/profile/catalog.h"
#include "proto/definition.h"
#include "proto/generated_path.h"

/* Directories whose first component below is a package's name. */
static const char *const package_directories[] = {"/site-packages/", "/dist-packages/"};

/* The interpreter's own library; the version's digits follow. */
static const char *const python_directories[] = {"/lib/python3.", "/lib64/python3."};

/* Where systems and CUDA have libraries. */
static const char *const system_directories[] = {
	"/lib/",       "/lib64/",         "/lib32/",      "/usr/lib/",         "/usr/lib64/",
	"/usr/lib32/", "/usr/local/cuda", "/opt/nvidia/", "/usr/local/nvidia",
};

/* Parts of paths of generated code, and its framework. */
static const struct {
	const char *part, *framework;
} generated[] = {{"/torchinductor_", "inductor"}, {"/.triton/", "triton"}};

/* Libraries that are frameworks wherever they lie, by the begin of their names. framework NULL: the library's name. */
static const struct {
	const char *prefix, *framework;
} libraries[] = {
	{"libtorch", "torch"}, {"libc10", "torch"}, {"libpython", "python"}, {"libcublas", NULL},
	{"libcudnn", NULL},    {"libcufft", NULL},  {"libcurand", NULL},     {"libcusolver", NULL},
	{"libcusparse", NULL}, {"libnccl", NULL},   {"libnvrtc", NULL},      {"libnvJitLink", NULL},
	{"libnvshmem", NULL},  {"libmpi", NULL},    {"libopen-pal", NULL},   {"libucp.", NULL},
	{"libuct.", NULL},     {"libucs.", NULL},   {"libstdc++.", NULL},    {"libgcc_s.", NULL},
	{"libffi.", NULL},     {"libgomp.", NULL},  {"libiomp", NULL},       {"libtbb", NULL},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Finds what follows the last such part. false: it does not have it. */
static bool behind(struct frame_text path, const char *part, struct frame_text *rest)
{
	const char *end = path.data + path.size, *at;

	rest->data = NULL;
	for (struct frame_text left = path; (at = frame_text_find(left, part)) != NULL;
	     left = (struct frame_text){rest->data, rest->size}) {
		rest->data = at + strlen(part);
		rest->size = (uint32_t)(end - rest->data);
	}
	return rest->data != NULL;
}

/* Cuts a component: a directory's name, or a file's up to its first dot. */
static struct frame_text component(struct frame_text path)
{
	uint32_t size = 0;

	while (size < path.size && path.data[size] != '/' && path.data[size] != '.')
		size++;
	return (struct frame_text){path.data, size};
}

/* Cuts "libcublas.so.13" to "libcublas". size 0: it is no library. */
static struct frame_text library_name(struct frame_text base)
{
	const char *so = frame_text_find(base, ".so");

	return (struct frame_text){base.data, so ? (uint32_t)(so - base.data) : 0};
}

static bool name_it(char name[static FRAME_CLASS_NAME_MAX], const char *framework, uint32_t size)
{
	const uint32_t most = FRAME_CLASS_NAME_MAX - 3;

	snprintf(name, FRAME_CLASS_NAME_MAX, "[%.*s]", (int)(size < most ? size : most), framework);
	return size > 0;
}

static bool name_text(char name[static FRAME_CLASS_NAME_MAX], const char *framework)
{
	return name_it(name, framework, (uint32_t)strlen(framework));
}

/* Takes the package of a file that lies in one. NVIDIA's packages are told apart by their libraries. */
static bool of_package(struct frame_text path, char name[static FRAME_CLASS_NAME_MAX])
{
	struct frame_text rest, package, base = frame_text_base(path), library = library_name(base);

	for (size_t i = 0; i < COUNT(package_directories); i++) {
		if (!behind(path, package_directories[i], &rest))
			continue;
		package = component(rest);
		if (frame_text_begins(package, "nvidia") && library.size)
			package = library;
		return name_it(name, package.data, package.size);
	}
	return false;
}

/* Takes what lies in the interpreter's library, modules in C among them. */
static bool of_python_library(struct frame_text path, char name[static FRAME_CLASS_NAME_MAX])
{
	struct frame_text rest;

	for (size_t i = 0; i < COUNT(python_directories); i++)
		if (behind(path, python_directories[i], &rest) && rest.size &&
		    isdigit((unsigned char)*rest.data))
			return name_text(name, "python");
	return false;
}

static bool of_python_file(struct frame_text path, char name[static FRAME_CLASS_NAME_MAX])
{
	return frame_text_begins(path, "<frozen ") && name_text(name, "python");
}

static bool of_native_file(struct frame_text path, bool is_program,
			   char name[static FRAME_CLASS_NAME_MAX])
{
	struct frame_text base = frame_text_base(path), library = library_name(base);

	if (frame_text_begins(base, "python3") && (is_program || !library.size))
		return name_text(name, "python");
	if (is_program || !library.size)
		return false;
	for (size_t i = 0; i < COUNT(libraries); i++)
		if (frame_text_begins(base, libraries[i].prefix))
			return libraries[i].framework ? name_text(name, libraries[i].framework)
						      : name_it(name, library.data, library.size);
	for (size_t i = 0; i < COUNT(system_directories); i++)
		if (frame_text_begins(path, system_directories[i]))
			return name_it(name, library.data, library.size);
	return false;
}

static bool of_more(struct frame_text path, const char *more,
		    char name[static FRAME_CLASS_NAME_MAX])
{
	for (; more && *more; more += strspn(more, ",")) {
		uint32_t size = (uint32_t)strcspn(more, ","), end = size, begin;

		while (end > 0 && more[end - 1] == '/')
			end--;
		for (begin = end; begin > 0 && more[begin - 1] != '/'; begin--)
			;
		if (end > begin && memmem(path.data, path.size, more, size))
			return name_it(name, more + begin, end - begin);
		more += size;
	}
	return false;
}

bool frame_class_of_file(const char *path, uint32_t size, const char *more, bool is_python,
			 bool is_program, char name[static FRAME_CLASS_NAME_MAX])
{
	const struct frame_text text = {path, size};

	if (of_more(text, more, name))
		return true;

	if (is_python && generated_path_parse(path, size, NULL, NULL))
		return name_text(name, "inductor");
	for (size_t i = 0; i < COUNT(generated); i++)
		if (frame_text_find(text, generated[i].part))
			return name_text(name, generated[i].framework);
	return of_package(text, name) || of_python_library(text, name) ||
	       (is_python ? of_python_file(text, name) : of_native_file(text, is_program, name));
}

bool frame_class_framework(const struct catalog *catalog, uint32_t frame_id, const char *more,
			   char name[static FRAME_CLASS_NAME_MAX])
{
	const struct catalog_frame *frame = catalog_frame(catalog, frame_id);
	const struct catalog_module *module = catalog_module(catalog, frame->module);
	uint32_t file = frame->code ? catalog_code(catalog, frame->code)->file : module->path, size;
	const char *path = catalog_string(catalog, file, &size);

	if (!file || (!frame->code && (!frame->module || module->flags & DEFINITION_MODULE_CUDA)))
		return false;
	return frame_class_of_file(path, size, more, frame->code != 0,
				   module->flags & DEFINITION_MODULE_MAIN, name);
}
