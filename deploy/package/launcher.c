/* bin/NAME of the relocatable tarball. It starts libexec/NAME with the tarball's own loader and libraries. So the
 * program runs on a machine with an older C library and without our dependencies. It is linked statically. It passes
 * everything as arguments of the loader, because the job must inherit an unchanged environment. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOADER    "ld-linux-x86-64.so.2"
#define EXIT_OWN  125 /* our own failure, as in env(1) and timeout(1) */
#define ARGUMENTS 7   /* before the program's own */

static void fail(const char *what)
{
	fprintf(stderr, "flamegrid: %s: %s\n", what, strerror(errno));
	exit(EXIT_OWN);
}

/* Cuts the path at its last slash, and returns the name behind it. */
static const char *split(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		fail(path);
	*slash = '\0';
	return slash + 1;
}

int main(int argc, char **argv)
{
	static char self[PATH_MAX], root[PATH_MAX], loader[PATH_MAX + 64], libraries[PATH_MAX + 64],
		program[2 * PATH_MAX];
	char **arguments = calloc((size_t)argc + ARGUMENTS + 1, sizeof(*arguments));
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int nr = 0;

	if (!arguments || size < 0)
		fail("/proc/self/exe");
	memcpy(root, self, sizeof(root));
	const char *name = split(root);
	char program_name[NAME_MAX + 1];
	snprintf(program_name, sizeof(program_name), "%s", name);
	split(root);
	snprintf(loader, sizeof(loader), "%s/lib/private/" LOADER, root);
	snprintf(libraries, sizeof(libraries), "%s/lib/private", root);
	snprintf(program, sizeof(program), "%s/libexec/%s", root, program_name);

	arguments[nr++] = loader;
	arguments[nr++] = "--inhibit-cache";
	arguments[nr++] = "--library-path";
	arguments[nr++] = libraries;
	arguments[nr++] = "--argv0";
	arguments[nr++] = self;
	arguments[nr++] = program;
	for (int i = 1; i < argc; i++)
		arguments[nr++] = argv[i];
	execv(loader, arguments);
	fail(loader);
	return EXIT_OWN;
}
