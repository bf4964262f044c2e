#include "munge_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"

#define LIBRARY "libmunge.so.2"

/* The library's interface (munge(3), munge_ctx(3); munge.h of MUNGE 0.5.15). It is declared here, so that the build
 * needs no munge; the soname stands for it. */
struct munge_ctx;
enum munge_err { EMUNGE_SUCCESS = 0, EMUNGE_NO_MEMORY = 5, EMUNGE_SOCKET = 6, EMUNGE_TIMEOUT = 7 };

static struct {
	struct munge_ctx *(*create)(void);
	void (*destroy)(struct munge_ctx *context);
	const char *(*explain)(struct munge_ctx *context);
	const char *(*name)(enum munge_err error);
	enum munge_err (*encode)(char **credential, struct munge_ctx *context, const void *bytes,
				 int size);
	enum munge_err (*decode)(const char *credential, struct munge_ctx *context, void **bytes,
				 int *size, uid_t *uid, gid_t *gid);
} library; /* written once, by open_library() */

static char problem[256]; /* of open_library(); "": none */

static void note_problem(void)
{
	const char *why = dlerror();

	strncpy(problem, why ? why : LIBRARY, sizeof(problem) - 1);
}

static void open_library(void)
{
	static const struct {
		const char *name;
		void *place;
	} functions[] = {
		{"munge_ctx_create", &library.create},    {"munge_ctx_destroy", &library.destroy},
		{"munge_ctx_strerror", &library.explain}, {"munge_strerror", &library.name},
		{"munge_encode", &library.encode},        {"munge_decode", &library.decode},
	};
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		note_problem();
	/* A tarball's loader does not look there, where Red Hat has its libraries. */
	if (!handle)
		handle = dlopen("/usr/lib64/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
	void *function = handle;

	for (size_t i = 0; function && i < sizeof(functions) / sizeof(*functions); i++) {
		function = dlsym(handle, functions[i].name);
		memcpy(functions[i].place, &function, sizeof(function));
	}
	if (function)
		*problem = '\0';
	else if (handle)
		note_problem();
}

int munge_library_open(char **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	*error = NULL;
	pthread_once(&once, open_library);
	if (!*problem)
		return 0;
	return error_text_set(error, -ENOPKG,
			      "munge's library is missing here (%s): install it (libmunge2 on "
			      "Debian and Ubuntu, munge-libs on Red Hat and its kin)",
			      problem);
}

/* Gives the status of a failed call, and its text. */
static int explain(enum munge_err result, struct munge_ctx *context, char **error)
{
	const char *why = library.explain(context);

	if (!why)
		why = library.name(result);
	if (!why)
		why = "?";
	if (result == EMUNGE_NO_MEMORY)
		return -ENOMEM;
	if (result == EMUNGE_SOCKET || result == EMUNGE_TIMEOUT)
		return error_text_set(error, -EAGAIN,
				      "munged does not answer on this host (%s): start it "
				      "(systemctl start munge)",
				      why);
	return error_text_set(error, -EACCES,
			      "munge: %s: all hosts of a site need the same munge.key, and "
			      "clocks that are right",
			      why);
}

int munge_library_encode(const char *text, char **credential, char **error)
{
	int status = munge_library_open(error);
	struct munge_ctx *context = status ? NULL : library.create();
	char *made = NULL;

	*credential = NULL;
	if (!context)
		return status ? status : -ENOMEM;
	enum munge_err result = library.encode(&made, context, text, (int)strlen(text));
	if (result != EMUNGE_SUCCESS)
		status = explain(result, context, error);
	else
		*credential = made;
	library.destroy(context);
	return status;
}

int munge_library_decode(const char *credential, char **text, uid_t *uid, char **error)
{
	int status = munge_library_open(error);
	struct munge_ctx *context = status ? NULL : library.create();
	void *bytes = NULL;
	int size = 0;
	gid_t gid;

	*text = NULL;
	if (!context)
		return status ? status : -ENOMEM;
	enum munge_err result = library.decode(credential, context, &bytes, &size, uid, &gid);
	if (result != EMUNGE_SUCCESS)
		status = explain(result, context, error);
	else if (!(*text = strndup(bytes ? bytes : "", size > 0 ? (size_t)size : 0)))
		status = -ENOMEM;
	free(bytes);
	library.destroy(context);
	return status;
}
