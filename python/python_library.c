#include "python_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096u

struct symbol {
	const char *name;
	size_t offset; /* offset in struct python_library of a pointer or an address */
	bool optional;
};

#define SYMBOL(name, field, optional)                                                              \
	{                                                                                          \
		name, offsetof(struct python_library, field), optional                             \
	}

static const struct symbol symbols[] = {
	SYMBOL("Py_GetVersion", get_version, false),
	SYMBOL("Py_IsInitialized", is_initialized, false),
	SYMBOL("PyGILState_GetThisThreadState", this_thread_state, false),
	SYMBOL("PyInterpreterState_Head", interpreter_head, true),
	SYMBOL("PyInterpreterState_Main", interpreter_main, true),
	SYMBOL("PyCode_Type", code_type, false),
	SYMBOL("PyUnicode_Type", string_type, false),
	SYMBOL("PyBytes_Type", bytes_type, false),
	SYMBOL("_PyEval_EvalFrameDefault", eval_frame, true),
	SYMBOL("_PyRuntime", runtime, true),
};
static_assert(sizeof(void *) == sizeof(uint64_t), "symbols are stored as either");

struct loaded {
	char python[PATH_BYTES]; /* path of a libpython; empty: none */
	bool pypy;
};

static int note_loaded(struct dl_phdr_info *info, size_t size, void *user)
{
	struct loaded *loaded = user;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *name = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (!name)
		return 0;
	if (strncmp(name, "libpypy", strlen("libpypy")) == 0)
		loaded->pypy = true;
	/* libpython3.so has no symbols of its own: the stable ABI's name for the real one. */
	if (!loaded->python[0] && strncmp(name, "libpython3", strlen("libpython3")) == 0 &&
	    strcmp(name, "libpython3.so") != 0 && strlen(info->dlpi_name) < PATH_BYTES)
		strcpy(loaded->python, info->dlpi_name);
	return 0;
}

/* Finds where Py_GetVersion can be found; NULL: nowhere. RTLD_DEFAULT is itself NULL. */
static bool find_scope(void **scope, bool *pypy)
{
	static struct loaded loaded; /* one thread at a time looks */

	*scope = RTLD_DEFAULT;
	*pypy = dlsym(RTLD_DEFAULT, "pypy_setup_home") != NULL;
	if (*pypy || dlsym(RTLD_DEFAULT, "Py_GetVersion"))
		return true;
	memset(&loaded, 0, sizeof(loaded));
	dl_iterate_phdr(note_loaded, &loaded);
	*pypy = loaded.pypy;
	if (*pypy)
		return true;
	if (!loaded.python[0])
		return false;
	*scope = dlopen(loaded.python, RTLD_LAZY | RTLD_NOLOAD);
	return *scope && dlsym(*scope, "Py_GetVersion");
}

/* Appends the reason to the name in *text. */
static int refuse(struct python_library *library, const char *reason, const char *detail)
{
	size_t size = strlen(library->text);

	snprintf(library->text + size, sizeof(library->text) - size, ": %s%s", reason, detail);
	return -ENOTSUP;
}

int python_library_version(const char *version, char text[PYTHON_LIBRARY_TEXT_MAX])
{
	size_t size = strcspn(version, " ");
	int minor = 0;

	snprintf(text, PYTHON_LIBRARY_TEXT_MAX, "CPython %.*s", size < 32 ? (int)size : 32,
		 version);
	if (strncmp(version, "3.", 2) != 0 || version[2] < '0' || version[2] > '9')
		return -1;
	for (const char *digit = version + 2; *digit >= '0' && *digit <= '9' && minor < 1000;
	     digit++)
		minor = minor * 10 + (*digit - '0');
	return minor;
}

static int resolve(struct python_library *library, void *scope)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = dlsym(scope, symbols[i].name);

		if (!address && !symbols[i].optional)
			return refuse(library, "does not export ", symbols[i].name);
		memcpy((char *)library + symbols[i].offset, &address, sizeof(address));
	}
	return 0;
}

/* Looks for a symbol that only builds with Py_REF_DEBUG export, which Py_DEBUG implies (Include/object.h). */
static bool is_debug_build(void *scope)
{
	return dlsym(scope, "_Py_NegativeRefcount") != NULL;
}

static int take_layout(struct python_library *library, unsigned minor)
{
	library->layout = *python_layout_of(minor);
	if (!library->runtime)
		return 0;
	switch (python_layout_take_offsets(&library->layout,
					   (const uint64_t *)(uintptr_t)library->runtime)) {
	case PYTHON_OFFSETS_FREE_THREADED:
		return refuse(library, "free-threaded build", "");
	case PYTHON_OFFSETS_OTHER:
		return refuse(library, "its _PyRuntime is not that of this version", "");
	case PYTHON_OFFSETS_TAKEN:
	case PYTHON_OFFSETS_ABSENT:
	default:
		return 0;
	}
}

int python_library_find(struct python_library *library)
{
	const char *(*get_version)(void);
	bool pypy;
	void *scope;

	memset(library, 0, sizeof(*library));
	if (!find_scope(&scope, &pypy))
		return -ENOENT;
	if (pypy) {
		strcpy(library->text, "PyPy");
		return refuse(library, "not CPython", "");
	}

	void *symbol = dlsym(scope, "Py_GetVersion");
	memcpy(&get_version, &symbol, sizeof(get_version));
	const char *version = get_version();
	int minor = python_library_version(version, library->text);
	/* The name is checked first, because such builds may lack symbols, or have their own. */
	if (strstr(version, "free-threading build"))
		return refuse(library, "free-threaded build", "");
	if (is_debug_build(scope))
		return refuse(library, "debug build", "");

	if (minor < 0 || !python_layout_of((unsigned)minor))
		return refuse(library, "not a known version", "");

	int error = resolve(library, scope);
	return error < 0 ? error : take_layout(library, (unsigned)minor);
}
